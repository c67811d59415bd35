-- Something is due for a send: it has expired, or no owner has taken it in. Safe to repeat, and at the same time.
-- Output: { 'nothing' } (it has ended), { 'expired' }, { 'waits' } (for the next owner, who reads what is open),
--   { 'wake', session of the owner }: from now on it is due again after as long a time as it has waited.
--- @include expire
--- @constants OPEN TAKEN_IN_MS
local LONGEST_MS = 60 * 1000
local entry, now = due_entry(record_key), tonumber(now_ms)
if not send or send.state ~= OPEN then
  redis.call('ZREM', due_key, entry)
  return { 'nothing' }
end
if send.expires_at <= now then
  expire()
  return { 'expired' }
end
local session = string.match(redis.call('GET', device_owner_key) or '', '^(.*):')
if not session or redis.call('EXISTS', session_prefix .. session) == 0 then
  redis.call('ZADD', due_key, send.expires_at, entry)
  return { 'waits' }
end
local pause = math.min(LONGEST_MS, math.max(TAKEN_IN_MS, now - send.created_at))
redis.call('ZADD', due_key, math.min(send.expires_at, now + pause), entry)
return { 'wake', session }

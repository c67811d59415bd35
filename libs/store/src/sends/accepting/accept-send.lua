-- Writes a send down, and promises it: it is open, counted, and due to be looked at if no owner takes it in.
-- With an idempotency key the same step makes the key stand for this send, so that a repeat cannot come in between.
-- `quota_bytes` is what the sends of this owner may take, `free_messages` how many more messages Redis has room for (0: any);
-- `is_bounded` says whether it may be refused for these.
-- Output: { 1, session of the owner of the device that lives, or '', ended send to be forgotten for room ... },
--   { 0, attempts that were used up } when the tag is taken by another send (make another id), { -1 } when the idempotency key stands for another send already, or for that of another request, { -2 } when sends
--   of this owner take, or wait for, all that they may, { -3 } when the device is gone, or has another account since `account_epoch`
--- @include head
--- @include book
--- @include due
--- @include activity
--- @include totals
--- @constants IDEMPOTENCY_MS TAKEN_IN_MS SMALL_SEND_RECIPIENTS PRIORITY_SPAN LISTED_MS QUEUED decode_head knows_version
local MOST_FORGOTTEN = 200
-- Of the messages that might wait without those of the owner, or of the device.
local OWNERS_PART, DEVICES_PART = 4, 2
local function living_session()
  local session = string.match(redis.call('GET', device_owner_key) or '', '^(.*):')
  local lives = session and redis.call('EXISTS', session_prefix .. session) == 1
  return lives and session or ''
end
-- A client that has lost the reply asks once more, as one of a Cluster does whose node has gone. Under a key the fingerprint tells that it is
-- the same request, as each seals its own; without one the id tells that it is the same send.
local freed = 0
if idempotency_key then
  local message, closed, count, sealed_once =
    unpack(redis.call('HMGET', idempotency_key, 'messageId', 'closed', 'freed', 'fingerprint'))
  if message == message_id and sealed_once == fingerprint then return { 1, living_session() } end
  if message or closed then return { -1 } end
  freed = tonumber(count or '0')
end
local made, epoch = unpack(redis.call('HMGET', device_key, 'createdAtMs', 'accountEpoch'))
if not made or (epoch or '0') ~= account_epoch then return { -3 } end
local function is_accepted()
  local head = redis.call('GETRANGE', record_key, 0, HEAD_BYTES - 1)
  if idempotency_key or not knows_version(string.byte(head)) then return false end
  return load_texts(decode_head(head)).message_id == message_id
end
local is_taken = redis.call('EXISTS', record_key) == 1
if is_taken and is_accepted() then return { 1, living_session() } end
if tonumber(attempt) < freed or is_taken then return { 0, tostring(freed) } end
local quota = tonumber(quota_bytes)
local ended, bytes = ended_key(owner), bytes_key(owner)
local function size_of(entry) return tonumber(string.match(entry, ' (%d+)$')) end
-- Of sends whose time is over: their keys have died by themselves.
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', ended, '-inf', now_ms, 'LIMIT', 0, MOST_FORGOTTEN)) do
  redis.call('DECRBY', bytes, size_of(dead))
  redis.call('ZREM', ended, dead)
end
local spent, excess = {}, quota > 0 and tonumber(redis.call('GET', bytes) or '0') - quota or 0
for _, entry in ipairs(excess > 0 and redis.call('ZRANGE', ended, 0, MOST_FORGOTTEN - 1) or {}) do
  if excess <= 0 then break end
  spent[#spent + 1] = entry
  excess = excess - size_of(entry)
end
-- Counted, and not only looked for: of sends that come together, each is told of the same ended ones.
if is_bounded == '1' and excess > 0 and #spent < MOST_FORGOTTEN then return { -2 } end
local send = decode_head(packed)
local messages, free = send.queued * send.parts, tonumber(free_messages)
local function goes_beyond(part, key)
  local waiting = tonumber(redis.call('GET', key) or '0')
  return (waiting + messages) * part > free + waiting
end
if is_bounded == '1' and free > 0 then
  if goes_beyond(OWNERS_PART, waiting_key(owner)) then return { -2 } end
  if send.total > SMALL_SEND_RECIPIENTS and goes_beyond(DEVICES_PART, backlog_key) then return { -2 } end
end
redis.call('SET', record_key, packed)
redis.call('SET', content_key, sealed, 'PXAT', content_dies_at_ms)
measure_send(send, owner, { record_key, content_key })
save_head(send)
local exact_ms, entry = redis_exact_ms(), due_entry(record_key)
local redis_now = math.floor(exact_ms)
redis.call('ZADD', open_key, send.priority * PRIORITY_SPAN + exact_ms, message_id)
redis.call('ZADD', due_key, math.min(redis_now + TAKEN_IN_MS, send.expires_at), entry)
redis.call('XADD', sends_key, 'MINID', '~', redis_now - LISTED_MS, '*', 's', string.match(entry, '/(.*)'))
keep_for(sends_key, LISTED_MS)
redis.call('ZADD', promised_key, finish_at_ms, entry)
count_activity({ [QUEUED] = send.queued })
move_totals(send.kind, nil, QUEUED, send.queued)
save_totals()
redis.call('INCRBY', backlog_key, messages)
count_waiting(owner, messages)
if idempotency_key then
  redis.call('HSET', idempotency_key, 'messageId', message_id, 'fingerprint', fingerprint, 'answer', answer)
  redis.call('PEXPIRE', idempotency_key, IDEMPOTENCY_MS)
end
return { 1, living_session(), unpack(spent) }

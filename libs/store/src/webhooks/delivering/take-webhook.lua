-- Lets a process deliver to an endpoint unless it belongs to another one that lives: whose session has not run out.
-- Output: { 'gone' }, { 'idle' } when nothing is to be sent, { 'taken' } by another, or { 'yours', when it was made in ms, '1' if all
-- that its lanes come to is for it, revision, `forgotten` ('-' before a person was forgotten), breaker, '0' if nothing is parked, how many parked events were lost and not told, the first replay, state of each lane of
-- `lanes` ... }, of these '' for what is not there.
--- @include mend-parked
--- @include tells-all
local status, owner, created = unpack(redis.call('HMGET', webhook_key, 'status', 'owner', 'createdAtMs'))
if not status then return { 'gone' } end
-- Also of one to which nothing is sent yet: who looks later may find that the clock has passed that time again.
local all = tells_all()
if status ~= 'active' and status ~= 'failing' then return { 'idle' } end
local sessions = string.sub(session_key, 1, -#process_id - 1)
if owner and owner ~= process_id and redis.call('EXISTS', sessions .. owner) == 1 then return { 'taken' } end
redis.call('SET', session_key, '', 'PX', session_ms)
if owner ~= process_id then
  redis.call('HSET', webhook_key, 'owner', process_id)
  if redis.call('HLEN', parked_key) > 0 then mend_parked() end
end
local wanted = redis.call('LINDEX', replays_key, 0)
-- What was put behind others goes on from where it was.
local waiting = wanted and redis.call('HGET', webhook_key, 'replay:' .. wanted)
if waiting then
  redis.call('HSETNX', webhook_key, 'lane:replay', waiting)
  redis.call('HDEL', webhook_key, 'replay:' .. wanted)
end
local revision, forgotten, breaker, lost =
  unpack(redis.call('HMGET', webhook_key, 'revision', 'forgotten', 'breaker', 'parkedLost'))
local found = { 'yours', created, all, revision, forgotten or '-', breaker or '', tostring(redis.call('HLEN', parked_key)), lost or '0',
  wanted or '' }
for i = before_lanes + 1, #ARGV do
  found[#found + 1] = redis.call('HGET', webhook_key, 'lane:' .. ARGV[i]) or ''
end
return found

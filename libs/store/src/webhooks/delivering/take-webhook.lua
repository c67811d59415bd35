-- Lets a process deliver to an endpoint for a while, if no other does: longer than a request may take.
-- Output: { 'gone' }, { 'idle' } when nothing is to be sent, { 'taken' } by another, or { 'yours', since when things are for it in ms,
-- breaker, how many keys are parked, how many parked events were lost and not told, the first replay, state of each lane of
-- `lanes` ... }, of these '' for what is not there.
local status, lease, ends, created = unpack(redis.call('HMGET', webhook_key, 'status', 'lease', 'leaseEndsMs', 'createdAtMs'))
if not status then return { 'gone' } end
if status ~= 'active' and status ~= 'failing' then return { 'idle' } end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
if lease and lease ~= token and tonumber(ends) > now_ms then return { 'taken' } end
redis.call('HSET', webhook_key, 'lease', token, 'leaseEndsMs', string.format('%d', now_ms + lease_ms))
local breaker, lost = unpack(redis.call('HMGET', webhook_key, 'breaker', 'parkedLost'))
local found = { 'yours', created, breaker or '', tostring(redis.call('HLEN', parked_key)), lost or '0',
  redis.call('LINDEX', replays_key, 0) or '' }
for i = before_lanes + 1, #ARGV do
  found[#found + 1] = redis.call('HGET', webhook_key, 'lane:' .. ARGV[i]) or ''
end
return found

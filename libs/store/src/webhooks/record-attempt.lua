-- Notes what was posted to an endpoint and what it answered, of which the latest are kept. An endpoint that has passed its test, as
-- it was then, is active from now on.
-- Output: the status of the endpoint, or 'gone'.
local revision, status = unpack(redis.call('HMGET', webhook_key, 'revision', 'status'))
if not status then return 'gone' end
redis.call('HSET', attempts_key, attempt, sealed)
redis.call('ZADD', times_key, at_ms, attempt)
local excess = redis.call('ZCARD', times_key) - tonumber(most)
if excess > 0 then
  local oldest = redis.call('ZRANGE', times_key, 0, excess - 1)
  redis.call('HDEL', attempts_key, unpack(oldest))
  redis.call('ZREM', times_key, unpack(oldest))
end
if verifies_revision == '' or revision ~= verifies_revision then return status end
redis.call('HSET', webhook_key, 'verifiedAtMs', at_ms)
if status ~= 'unverified' then return status end
redis.call('HSET', webhook_key, 'status', 'active')
return 'active'

-- Notes what was posted to an endpoint and what it answered, of which the latest are kept.
local function keep_attempt()
  redis.call('HSET', attempts_key, attempt, sealed)
  redis.call('ZADD', times_key, at_ms, attempt)
  local excess = redis.call('ZCARD', times_key) - tonumber(most)
  if excess <= 0 then return end
  local oldest = redis.call('ZRANGE', times_key, 0, excess - 1)
  redis.call('HDEL', attempts_key, unpack(oldest))
  redis.call('ZREM', times_key, unpack(oldest))
end

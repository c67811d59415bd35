-- Notes what was posted to an endpoint and what it answered, of which the latest are kept. One that is noted later is a later one, also where
-- it was begun before, or the clock was set back.
local function keep_attempt()
  redis.call('HSET', attempts_key, attempt, sealed)
  local latest = redis.call('ZREVRANGE', times_key, 0, 0, 'WITHSCORES')[2]
  redis.call('ZADD', times_key, 'NX', math.max(at_ms, (latest or 0) + 1), attempt)
  local excess = redis.call('ZCARD', times_key) - tonumber(most)
  if excess <= 0 then return end
  local oldest = redis.call('ZRANGE', times_key, 0, excess - 1)
  redis.call('HDEL', attempts_key, unpack(oldest))
  redis.call('ZREM', times_key, unpack(oldest))
end

-- Notes what was posted to an endpoint and what it answered. The latest are kept, in the order in which they began. What seems to have begun long
-- before the latest one comes behind it: the clock was set back.
local LONGEST_REQUEST_MS = 60 * 1000

local function keep_attempt()
  redis.call('HSET', attempts_key, attempt, sealed)
  local latest = tonumber(redis.call('ZREVRANGE', times_key, 0, 0, 'WITHSCORES')[2] or 0)
  local is_set_back = tonumber(at_ms) < latest - LONGEST_REQUEST_MS
  redis.call('ZADD', times_key, 'NX', is_set_back and latest + 1 or at_ms, attempt)
  local excess = redis.call('ZCARD', times_key) - tonumber(most)
  if excess <= 0 then return end
  local oldest = redis.call('ZRANGE', times_key, 0, excess - 1)
  redis.call('HDEL', attempts_key, unpack(oldest))
  redis.call('ZREM', times_key, unpack(oldest))
end

-- Remembers a message that the device received, so that a reply can quote it; forgets those that are too old or too many.
redis.call('HSET', received_key, platform_id, sealed)
redis.call('ZADD', received_times_key, now_ms, platform_id)
local function forget(ids)
  if #ids == 0 then return end
  redis.call('HDEL', received_key, unpack(ids))
  redis.call('ZREM', received_times_key, unpack(ids))
end
forget(redis.call('ZRANGEBYSCORE', received_times_key, '-inf', now_ms - retention_ms, 'LIMIT', 0, 100))
local excess = redis.call('ZCARD', received_times_key) - tonumber(most)
if excess > 0 then forget(redis.call('ZRANGE', received_times_key, 0, math.min(excess, 100) - 1)) end
redis.call('PEXPIRE', received_key, retention_ms)
redis.call('PEXPIRE', received_times_key, retention_ms)
return 1

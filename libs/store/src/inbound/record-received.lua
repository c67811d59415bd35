#!lua flags=allow-oom
-- Remembers a message that the device received, so that a reply can quote it; forgets those that are too old or too many.
-- KEYS lease, received, received times   ARGV token, platform id, sealed message, now ms, retention ms, most messages
-- Output: 'ok' | 'fenced'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[2])
local function forget(ids)
  if #ids == 0 then return end
  redis.call('HDEL', KEYS[2], unpack(ids))
  redis.call('ZREM', KEYS[3], unpack(ids))
end
forget(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', ARGV[4] - ARGV[5], 'LIMIT', 0, 100))
local excess = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[6])
if excess > 0 then forget(redis.call('ZRANGE', KEYS[3], 0, math.min(excess, 100) - 1)) end
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return 'ok'

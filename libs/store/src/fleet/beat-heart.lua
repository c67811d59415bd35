#!lua flags=allow-oom
-- Says that a process lives, drops the ones that have not for a while, and lists those that do. Redis time, so that
-- the clocks of machines do not matter.
-- KEYS members, loads   ARGV process id, ttl ms, load (JSON)
-- Output: flat list of process id, load.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])) do
  redis.call('ZREM', KEYS[1], gone)
  redis.call('HDEL', KEYS[2], gone)
end
-- Who lives is what the set says: a load that outlived its process must not get devices.
local live = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  live[#live + 1] = id
  live[#live + 1] = redis.call('HGET', KEYS[2], id) or '{}'
end
return live

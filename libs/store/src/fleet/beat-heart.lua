-- Says that a process lives, drops the ones that have not for a while, and lists those that do. Redis time, so that
-- the clocks of machines do not matter.
-- Output: flat list of process id, load.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', members_key, now, process_id)
redis.call('HSET', member_loads_key, process_id, load)
-- A time to come was written while the clock of Redis was ahead: one that lives says so again before its time from now on is over.
for _, early in ipairs(redis.call('ZRANGEBYSCORE', members_key, '(' .. now, '+inf')) do
  redis.call('ZADD', members_key, now, early)
end
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', members_key, '-inf', now - ttl_ms)) do
  redis.call('ZREM', members_key, gone)
  redis.call('HDEL', member_loads_key, gone)
end
-- Who lives is what the set says: a load that outlived its process must not get devices.
local live = {}
for _, id in ipairs(redis.call('ZRANGE', members_key, 0, -1)) do
  live[#live + 1] = id
  live[#live + 1] = redis.call('HGET', member_loads_key, id) or '{}'
end
return live

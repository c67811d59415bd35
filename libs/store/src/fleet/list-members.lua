-- Output: flat list of process id, load, of those whose last heartbeat is younger than the ttl.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local live = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', members_key, '(' .. (now - ttl_ms), '+inf')) do
  live[#live + 1] = id
  live[#live + 1] = redis.call('HGET', member_loads_key, id) or '{}'
end
return live

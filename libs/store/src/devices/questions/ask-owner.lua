-- Leaves a question for the owner of a device. Its numbers count towards a daily limit (`count` 0: not counted).
-- Output: 'asked' | 'busy' | 'capped' | 'gone' (there is no such device: it went with its workspace)
if redis.call('EXISTS', device_key) == 0 then return 'gone' end
local count = tonumber(count)
-- It waits already: its numbers were counted, or are not to be.
local waits = redis.call('HEXISTS', questions_key, id) == 1
if not waits and redis.call('HLEN', questions_key) >= tonumber(most_waiting) then return 'busy' end
if count > 0 and not waits then
  if tonumber(redis.call('GET', counter_key) or '0') + count > tonumber(cap) then return 'capped' end
  redis.call('INCRBY', counter_key, count)
  redis.call('PEXPIRE', counter_key, counter_ttl_ms)
end
redis.call('HSET', questions_key, id, question)
redis.call('PEXPIRE', questions_key, ttl_ms)
return 'asked'

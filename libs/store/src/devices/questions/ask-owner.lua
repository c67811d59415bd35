-- Leaves a question for the owner of a device. What it asks about counts towards a daily cap.
-- KEYS questions, counter of the day
-- ARGV question id, question, ttl ms, most questions that may wait, count (0: none), cap, ttl of the counter in ms
-- Output: 'asked' | 'busy' | 'capped'
local id, count = ARGV[1], tonumber(ARGV[5])
if redis.call('HEXISTS', KEYS[1], id) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then return 'busy' end
if count > 0 then
  if tonumber(redis.call('GET', KEYS[2]) or '0') + count > tonumber(ARGV[6]) then return 'capped' end
  redis.call('INCRBY', KEYS[2], count)
  redis.call('PEXPIRE', KEYS[2], ARGV[7])
end
redis.call('HSET', KEYS[1], id, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 'asked'

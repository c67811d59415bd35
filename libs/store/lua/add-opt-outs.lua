-- Puts people onto the list of those who want no messages. Whoever is on it stays there as they came.
-- KEYS count, buckets in use, bucket...   ARGV value, then (place of the bucket in KEYS, bucket number, field) ...
-- Output: how many are new.
local added = 0
for i = 2, #ARGV, 3 do
  added = added + redis.call('HSETNX', KEYS[tonumber(ARGV[i])], ARGV[i + 2], ARGV[1])
  redis.call('SETBIT', KEYS[2], ARGV[i + 1], 1)
end
if added > 0 then redis.call('INCRBY', KEYS[1], added) end
return added

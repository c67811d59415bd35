#!lua flags=allow-oom
-- Puts people onto the list of those who want no messages. Those on it stay as they came;
-- but a later reply refreshes the time of an earlier one, so that an old START does not take it back.
-- KEYS count, buckets in use, bucket...   ARGV value, then (place of the bucket in KEYS, bucket number, field) ...
-- Output: how many are new.
-- A value is seconds * 8 + source, source 0 is a reply, and below 0 it is no opt-out: libs/store/src/opt-outs.ts.
local isReply = tonumber(ARGV[1]) % 8 == 0
local added = 0
for i = 2, #ARGV, 3 do
  local bucket = KEYS[tonumber(ARGV[i])]
  local isNew = redis.call('HSETNX', bucket, ARGV[i + 2], ARGV[1])
  added = added + isNew
  if isNew == 0 and isReply then
    local held = tonumber(redis.call('HGET', bucket, ARGV[i + 2]))
    if held > 0 and held % 8 == 0 and held < tonumber(ARGV[1]) then redis.call('HSET', bucket, ARGV[i + 2], ARGV[1]) end
  end
  redis.call('SETBIT', KEYS[2], ARGV[i + 1], 1)
end
if added > 0 then redis.call('INCRBY', KEYS[1], added) end
return added

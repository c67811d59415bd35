#!lua flags=allow-oom
-- Puts people onto the list of those who want no messages. Those on it stay as they came;
-- but a later reply refreshes the time of an earlier one, so that an old START does not take it back.
-- KEYS count, buckets in use, bucket...
-- ARGV value, most people on the list, then (place of the bucket in KEYS, bucket number, field) ...
-- Output: { how many are new, how many there was no room for }
-- A value is seconds * 8 + source, source 0 is a reply, and below 0 it is no opt-out: libs/store/src/workspace/opt-outs.ts.
local isReply = tonumber(ARGV[1]) % 8 == 0
local room = tonumber(ARGV[2]) - tonumber(redis.call('GET', KEYS[1]) or '0')
local added, refused = 0, 0
for i = 3, #ARGV, 3 do
  local bucket, field = KEYS[tonumber(ARGV[i])], ARGV[i + 2]
  local held = tonumber(redis.call('HGET', bucket, field))
  if held then
    if isReply and held > 0 and held % 8 == 0 and held < tonumber(ARGV[1]) then
      redis.call('HSET', bucket, field, ARGV[1])
    end
  elseif added >= room then
    refused = refused + 1
  else
    redis.call('HSET', bucket, field, ARGV[1])
    redis.call('SETBIT', KEYS[2], ARGV[i + 1], 1)
    added = added + 1
  end
end
if added > 0 then redis.call('INCRBY', KEYS[1], added) end
return { added, refused }

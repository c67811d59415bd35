#!lua flags=allow-oom
-- Takes somebody off the list. A reply takes back what a reply did before it, and nothing else.
-- KEYS count, buckets in use, bucket   ARGV field, bucket number, seconds of the reply ('' for an operator)
-- Output: 1, or 0 when nothing was removed.
-- A value is seconds * 8 + source, and source 0 is a reply: libs/store/src/workspace/opt-outs.ts.
local value = tonumber(redis.call('HGET', KEYS[3], ARGV[1]))
-- Below 0 it is no opt-out, but the number that a hidden identifier leads to.
if not value or value < 0 then return 0 end
if ARGV[3] ~= '' and (value % 8 ~= 0 or value > tonumber(ARGV[3]) * 8) then return 0 end
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('DECR', KEYS[1])
if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('SETBIT', KEYS[2], ARGV[2], 0) end
return 1

#!lua flags=allow-oom
-- A number and a hidden identifier are of one person: the identifier leads to the number from now on, and what was kept
-- of the person under the identifier alone is kept under the number.
-- KEYS count, buckets in use, bucket of the identifier, bucket of the number
-- ARGV field of the identifier, digits of the number, number of the one bucket, of the other, '1' to join in any case,
--      '' only when there is something to move
-- A value below 0 is a number that an identifier leads to: libs/store/src/workspace/hidden-opt-outs.ts.
local value = redis.call('HGET', KEYS[3], ARGV[1])
local isOptOut = value and tonumber(value) > 0
if not isOptOut and ARGV[5] == '' then return 0 end
if isOptOut then
  if redis.call('HSETNX', KEYS[4], ARGV[2], value) == 0 then redis.call('DECR', KEYS[1]) end
  redis.call('SETBIT', KEYS[2], ARGV[4], 1)
end
redis.call('HSET', KEYS[3], ARGV[1], '-' .. ARGV[2])
redis.call('SETBIT', KEYS[2], ARGV[3], 1)
return 1

#!lua flags=allow-oom
-- A send needs its blob no more. The blob goes with the last one that does. Safe to repeat.
-- KEYS blobs, sizes, bytes of all, holders, chunk, ...   ARGV hash, holder
-- Output: 1 when it is gone now, else 0.
if redis.call('SREM', KEYS[4], ARGV[2]) == 0 or redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
redis.call('DECRBY', KEYS[3], redis.call('HGET', KEYS[2], ARGV[1]) or 0)
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('UNLINK', unpack(KEYS, 5))
return 1

-- A send needs its blob no more. The blob goes with the last one that does. Safe to repeat.
-- Output: 1 when it is gone now, else 0.
if redis.call('SREM', holders_key, holder) == 0 or redis.call('EXISTS', holders_key) == 1 then return 0 end
redis.call('DECRBY', total_key, redis.call('HGET', sizes_key, hash) or 0)
redis.call('HDEL', sizes_key, hash)
redis.call('ZREM', blobs_key, hash)
redis.call('UNLINK', unpack(KEYS, before_chunks + 1))
return 1

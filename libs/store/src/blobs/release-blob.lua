-- A send needs its blob no more. The blob goes with the last one that does. Safe to repeat.
-- Output: 1 when it is gone now, else 0.
redis.call('SREM', holders_key, holder)
redis.call('ZREM', reserved_key, holder)
local held = redis.call('SCARD', holders_key)
if held > redis.call('ZCARD', reserved_key) then return 0 end
-- Those who are left have promised nothing yet, or have died before that.
local latest = held > 0 and tonumber(redis.call('ZREVRANGE', reserved_key, 0, 0, 'WITHSCORES')[2])
if latest and latest > tonumber(now_ms) then
  redis.call('ZADD', blobs_key, latest, hash)
  for i = before_chunks - 1, #KEYS do redis.call('PEXPIREAT', KEYS[i], string.format('%d', latest)) end
  return 0
end
-- One of a workspace that has been deleted has no size, and leaves no count.
local bytes = redis.call('HGET', sizes_key, hash)
if bytes then redis.call('DECRBY', total_key, bytes) end
redis.call('HDEL', sizes_key, hash)
redis.call('ZREM', blobs_key, hash)
redis.call('UNLINK', unpack(KEYS, before_chunks - 1))
return 1

-- Makes room for a blob, or keeps the one that is there alive, for one more holder. A lifetime only ever extends.
-- Output: 'kept' (all of it is there), 'write' (its chunks are to be written now), 'full', 'gone' (the workspace has been deleted: a
-- file goes out with a device, and there was none)
if redis.call('EXISTS', short_ids_key) == 0 then return 'gone' end
local bytes, now = tonumber(bytes), tonumber(now_ms)
-- Of sends that were never released: their chunks have died by themselves.
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', blobs_key, '-inf', now)) do
  redis.call('DECRBY', total_key, redis.call('HGET', sizes_key, dead) or 0)
  redis.call('HDEL', sizes_key, dead)
  redis.call('ZREM', blobs_key, dead)
end
local known = redis.call('ZSCORE', blobs_key, hash)
if not known then
  if tonumber(redis.call('GET', total_key) or '0') + bytes > tonumber(quota_bytes) then return 'full' end
  redis.call('INCRBY', total_key, bytes)
  redis.call('HSET', sizes_key, hash, bytes)
end
local dies_at = math.max(tonumber(dies_at_ms), tonumber(known or 0))
redis.call('ZADD', blobs_key, dies_at, hash)
redis.call('SADD', holders_key, holder)
redis.call('ZADD', reserved_key, dies_at_ms, holder)
redis.call('PEXPIREAT', reserved_key, dies_at)
local complete = true
for i = before_chunks, #KEYS do -- The holders, too.
  if redis.call('PEXPIREAT', KEYS[i], dies_at) == 0 then complete = false end
end
return complete and 'kept' or 'write'

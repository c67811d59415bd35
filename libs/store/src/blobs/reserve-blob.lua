-- Makes room for a blob, or keeps the one that is there alive, for one more holder. A life time only ever extends.
-- KEYS blobs, sizes, bytes of all, holders, chunk, ...   ARGV hash, bytes, holder, now ms, dies at ms, quota in bytes
-- Output: 'kept' (all of it is there), 'write' (its chunks are to be written now), 'full'
local hash, bytes, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
-- Of sends that were never released: their chunks have died by themselves.
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  redis.call('DECRBY', KEYS[3], redis.call('HGET', KEYS[2], dead) or 0)
  redis.call('HDEL', KEYS[2], dead)
  redis.call('ZREM', KEYS[1], dead)
end
local known = redis.call('ZSCORE', KEYS[1], hash)
if not known then
  if tonumber(redis.call('GET', KEYS[3]) or '0') + bytes > tonumber(ARGV[6]) then return 'full' end
  redis.call('INCRBY', KEYS[3], bytes)
  redis.call('HSET', KEYS[2], hash, bytes)
end
local dies_at = math.max(tonumber(ARGV[5]), tonumber(known or 0))
redis.call('ZADD', KEYS[1], dies_at, hash)
redis.call('SADD', KEYS[4], ARGV[3])
local complete = true
for i = 4, #KEYS do
  if redis.call('PEXPIREAT', KEYS[i], dies_at) == 0 then complete = false end
end
return complete and 'kept' or 'write'

-- Makes room for a blob, or keeps the one that is there alive. A life time only ever extends.
-- KEYS blobs, sizes, chunk, ...   ARGV hash, bytes, now ms, dies at ms, quota in bytes
-- Output: 'kept' (all of it is there), 'write' (its chunks are to be written now), 'full'
local hash, bytes, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  redis.call('HDEL', KEYS[2], dead)
  redis.call('ZREM', KEYS[1], dead)
end
local known = redis.call('ZSCORE', KEYS[1], hash)
local dies_at = math.max(tonumber(ARGV[4]), tonumber(known or 0))
local complete = true
for i = 3, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then complete = false end
end
if not known then
  local held = bytes
  for _, size in ipairs(redis.call('HVALS', KEYS[2])) do held = held + tonumber(size) end
  if held > tonumber(ARGV[5]) then return 'full' end
end
redis.call('ZADD', KEYS[1], dies_at, hash)
redis.call('HSET', KEYS[2], hash, bytes)
for i = 3, #KEYS do redis.call('PEXPIREAT', KEYS[i], dies_at) end
return complete and 'kept' or 'write'

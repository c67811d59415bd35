#!lua flags=allow-oom
-- A send is about to be promised: its blob lives as long as it needs it. A life time only ever extends.
-- KEYS blobs, holders, chunk, ...   ARGV hash, holder, dies at ms
-- Output: 1, or 0 when the blob, or a part of it, has gone or been let go of.
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not known or redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 0 then return 0 end
local dies_at = math.max(tonumber(ARGV[3]), tonumber(known))
redis.call('ZADD', KEYS[1], dies_at, ARGV[1])
for i = 2, #KEYS do
  if redis.call('PEXPIREAT', KEYS[i], string.format('%d', dies_at)) == 0 then return 0 end
end
return 1

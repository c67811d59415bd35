-- A send is about to be accepted: its blob lives as long as it needs it. A lifetime only ever extends.
-- Output: 1, or 0 when the blob, or a part of it, has gone or been let go of.
local known = redis.call('ZSCORE', blobs_key, hash)
if not known or redis.call('SISMEMBER', holders_key, holder) == 0 then return 0 end
redis.call('ZREM', reserved_key, holder)
local dies_at = math.max(tonumber(dies_at_ms), tonumber(known))
redis.call('ZADD', blobs_key, dies_at, hash)
-- As long as the holders: without it one whose process has died would count as promised.
redis.call('PEXPIREAT', reserved_key, string.format('%d', dies_at))
for i = before_chunks, #KEYS do -- The holders, too.
  if redis.call('PEXPIREAT', KEYS[i], string.format('%d', dies_at)) == 0 then return 0 end
end
return 1

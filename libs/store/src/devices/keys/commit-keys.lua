#!lua flags=allow-oom
-- One atomic write of credentials and session keys.
-- KEYS lease, creds, key-buckets, contact-index, bucket...
-- ARGV token, creds ('' for unchanged), number of contacts, contact..., then (bucket number in KEYS from 1, bucket name, field, value or '') ...
-- Output: 'ok' | 'fenced'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
if ARGV[2] ~= '' then redis.call('SET', KEYS[2], ARGV[2]) end
local contacts = tonumber(ARGV[3])
for i = 4, 3 + contacts do redis.call('SADD', KEYS[4], ARGV[i]) end
for i = 4 + contacts, #ARGV, 4 do
  local bucket = KEYS[4 + tonumber(ARGV[i])]
  if ARGV[i + 3] == '' then
    redis.call('HDEL', bucket, ARGV[i + 2])
  else
    redis.call('SADD', KEYS[3], ARGV[i + 1])
    redis.call('HSET', bucket, ARGV[i + 2], ARGV[i + 3])
  end
end
return 'ok'

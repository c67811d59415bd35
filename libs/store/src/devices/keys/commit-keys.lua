-- One atomic write of credentials ('' for unchanged) and session keys.
-- `changes` are the contacts, `contact_count` of them, then (bucket from 1, bucket name, field, value or '') ...
if new_creds ~= '' then redis.call('SET', creds_key, new_creds) end
local contacts = tonumber(contact_count)
for i = before_changes + 1, before_changes + contacts do redis.call('SADD', contact_index_key, ARGV[i]) end
for i = before_changes + contacts + 1, #ARGV, 4 do
  local bucket = KEYS[before_buckets + tonumber(ARGV[i])]
  if ARGV[i + 3] == '' then
    redis.call('HDEL', bucket, ARGV[i + 2])
  else
    redis.call('SADD', key_buckets_key, ARGV[i + 1])
    redis.call('HSET', bucket, ARGV[i + 2], ARGV[i + 3])
  end
end
return 1

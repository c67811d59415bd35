#!lua flags=allow-oom
-- The account is gone from this device: its keys are unlinked, with what else was about it. With a quarantine its credentials are kept aside for a while.
-- KEYS lease, creds, quarantined creds, key-buckets, contact-index, restriction, refused contacts, query ends, replaced, bucket...   ARGV token, quarantine ms (0 for none)
-- Output: 'ok' | 'fenced'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
if ARGV[2] ~= '0' and redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('RENAME', KEYS[2], KEYS[3])
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
else
  redis.call('DEL', KEYS[2])
end
redis.call('UNLINK', unpack(KEYS, 4))
return 'ok'

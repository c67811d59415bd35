-- The account is gone from this device: its keys are unlinked, with what else was about it. With a quarantine its credentials are kept aside for a while.
--- @include tell-restriction
tell_restriction('', '')
if quarantine_ms ~= '0' and redis.call('EXISTS', creds_key) == 1 then
  redis.call('RENAME', creds_key, quarantined_key)
  redis.call('PEXPIRE', quarantined_key, quarantine_ms)
else
  redis.call('DEL', creds_key)
end
redis.call('UNLINK', key_buckets_key, contact_index_key, restriction_key, refused_key, query_ends_key, replaced_key,
  unpack(KEYS, before_buckets + 1))
return 1

-- Everything that the status of a device is made of, as it stands at one moment.
-- Output: { flat list of desired's fields and values, the same of observed and of restriction, 1 when it has an owner that lives, 1 when there are credentials,
--   how often another account was taken, or nothing }
local owner = redis.call('GET', owner_key)
return {
  redis.call('HGETALL', desired_key),
  redis.call('HGETALL', observed_key),
  redis.call('HGETALL', restriction_key),
  (owner and redis.call('EXISTS', session_prefix .. owner:match('^(.*):'))) or 0,
  redis.call('EXISTS', creds_key),
  redis.call('HGET', device_key, 'accountEpoch'),
}

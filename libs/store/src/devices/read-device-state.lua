-- Everything that the status of a device is made of, as it stands at one moment.
-- Output: { flat list of desired's fields and values, the same of observed and of restriction, 1 when the lease is held, 1 when there are credentials }
return {
  redis.call('HGETALL', desired_key),
  redis.call('HGETALL', observed_key),
  redis.call('HGETALL', restriction_key),
  redis.call('EXISTS', lease_key),
  redis.call('EXISTS', creds_key),
}

-- Everything that the status of a device is made of, as it stands at one moment.
-- KEYS desired, observed, restriction, lease, creds
-- Output: { flat list of desired's fields and values, the same of observed and of restriction, 1 when the lease is held, 1 when there are credentials }
return {
  redis.call('HGETALL', KEYS[1]),
  redis.call('HGETALL', KEYS[2]),
  redis.call('HGETALL', KEYS[3]),
  redis.call('EXISTS', KEYS[4]),
  redis.call('EXISTS', KEYS[5]),
}

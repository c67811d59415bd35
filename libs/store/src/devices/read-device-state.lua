-- Everything that the status of a device is made of, as it stands at one moment.
-- Output: { flat list of desired's fields and values, the same of observed and of restriction, 1 when it has an owner that lives, 1 when there are credentials,
--   how often another account was taken, its own pace, or nothing for each of these, messages that wait, or nothing }
local owner = redis.call('GET', owner_key)
local epoch, pace = unpack(redis.call('HMGET', device_key, 'accountEpoch', 'pace'))
return {
  redis.call('HGETALL', desired_key),
  redis.call('HGETALL', observed_key),
  redis.call('HGETALL', restriction_key),
  (owner and redis.call('EXISTS', session_prefix .. owner:match('^(.*):'))) or 0,
  redis.call('EXISTS', creds_key),
  epoch,
  pace,
  redis.call('GET', backlog_key),
}

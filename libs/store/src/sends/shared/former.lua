-- Whether a send was accepted for an account that was linked before the one of now: none of it goes out any more, for it would
-- come from someone else. There is no epoch on either side while a device has its first account.
local function is_of_former_account(record_key, device_key)
  return redis.call('HGET', record_key, 'accountEpoch') ~= redis.call('HGET', device_key, 'accountEpoch')
end

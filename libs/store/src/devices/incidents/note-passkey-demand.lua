-- Whether the network asked for the passkey of the account when the device was last to be linked.
if is_demanded == '' then redis.call('HDEL', device_key, 'asksForPasskey') else redis.call('HSET', device_key, 'asksForPasskey', '1') end
return 1

-- Another account is on the device: what was received, and sent before now, is none of its conversations.
redis.call('UNLINK', received_key, received_times_key)
redis.call('HSET', device_key, 'account', account, 'accountSinceMs', now_ms)
if id_key ~= '' then redis.call('HSET', device_key, 'idKey', id_key) end
return 1

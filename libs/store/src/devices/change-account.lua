-- Another account is on the device: what was received, and sent before now, is none of its conversations, and what was accepted
-- before is not for it. With another key of the platform ids nothing of before may be sent either.
local former = redis.call('HGET', device_key, 'account')
if (former and former ~= account) or id_key ~= '' then redis.call('HINCRBY', device_key, 'accountEpoch', 1) end
redis.call('UNLINK', received_key, received_times_key)
redis.call('HSET', device_key, 'account', account, 'accountSinceMs', now_ms)
if id_key ~= '' then redis.call('HSET', device_key, 'idKey', id_key) end
return 1

-- Another account is on the device: what was received, and sent before now, is none of its conversations (it is still told of), and
-- what was accepted before is not for it. With another key of the platform ids nothing of before may be sent either.
local former = redis.call('HGET', device_key, 'account')
-- The same step again, as its reply was lost, has the same key.
local is_other_key = id_key ~= '' and redis.call('HGET', device_key, 'idKey') ~= id_key
if (former and former ~= account) or is_other_key then redis.call('HINCRBY', device_key, 'accountEpoch', 1) end
-- After all that was received, also within this millisecond.
local newest = redis.call('ZREVRANGE', received_times_key, 0, 0, 'WITHSCORES')[2]
local since_ms = math.max(tonumber(now_ms), tonumber(newest or 0) + 1)
redis.call('HSET', device_key, 'account', account, 'accountSinceMs', string.format('%.0f', since_ms))
if id_key ~= '' then redis.call('HSET', device_key, 'idKey', id_key) end
-- An older version may have listed one that `make-device` began, and does not know that it is to be kept.
redis.call('PERSIST', device_key)
return 1

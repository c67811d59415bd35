-- Lets a device stay that was made: its workspace was there after that.
-- Output: 1, or 0 when it is gone, or is another one
local made, epoch = unpack(redis.call('HMGET', device_key, 'createdAtMs', 'accountEpoch'))
if not made or (epoch or '0') ~= account_epoch then return 0 end
redis.call('PERSIST', device_key)
redis.call('SADD', devices_key, place)
return 1

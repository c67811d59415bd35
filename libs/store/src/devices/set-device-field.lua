-- Something that is set of a device, and taken back without a value. Nothing of one that is gone: the key would stay.
-- Output: 1, or 0 when there is no such device
if redis.call('HEXISTS', device_key, 'createdAtMs') == 0 then return 0 end
if value == '' then redis.call('HDEL', device_key, field) else redis.call('HSET', device_key, field, value) end
return 1

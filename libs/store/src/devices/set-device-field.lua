-- Something that is set of a device, and taken back without a value. Nothing of one that is gone, as the key would stay, or, with
-- `made_at_ms`, of a later one of its name.
-- Output: 1, or 0 when there is no such device
local made_at = redis.call('HGET', device_key, 'createdAtMs')
if not made_at or (made_at_ms ~= '' and made_at ~= made_at_ms) then return 0 end
if value == '' then redis.call('HDEL', device_key, field) else redis.call('HSET', device_key, field, value) end
return 1

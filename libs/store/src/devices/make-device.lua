-- Makes a device, or what is missing of one. The epoch comes with a device that is new, and only then: sends carry it.
-- What is new goes again after a while, unless `keep-device` lets it stay: the workspace may have been deleted before it was made.
-- Output: { its account epoch, 1 when it stays already }
local is_there = redis.call('EXISTS', device_key) == 1
local is_new = redis.call('HEXISTS', device_key, 'createdAtMs') == 0
if redis.call('HSETNX', device_key, 'idKey', id_key) == 1 and is_new then redis.call('HSET', device_key, 'accountEpoch', account_epoch) end
redis.call('HSETNX', device_key, 'createdAtMs', now_ms)
redis.call('HSETNX', device_key, 'displayName', name)
if not is_there then redis.call('PEXPIRE', device_key, unkept_ms) end
local stays = redis.call('PTTL', device_key) == -1 and redis.call('SISMEMBER', devices_key, place) == 1
return { redis.call('HGET', device_key, 'accountEpoch') or '0', stays and 1 or 0 }

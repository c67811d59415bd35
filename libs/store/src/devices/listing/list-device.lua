-- Puts a device into the list of its workspace, under a short id of its own, unless the list has as many as it may.
-- One that `is_made` was on the list before, and lost its place to a failover: it takes none from others.
-- `token_key` is that of the caller, and goes with the workspace.
-- Output: 'listed' | 'known' (it was already) | 'full' | 'taken' (another device has the short id) | 'gone' (the workspace has been deleted)
if token_key and redis.call('EXISTS', token_key) == 0 then return 'gone' end
local taken = redis.call('HGET', short_ids_key, short)
if taken and taken ~= device then return 'taken' end
if redis.call('SISMEMBER', devices_key, device) == 1 then return 'known' end
local most = tonumber(redis.call('HGET', limits_key, 'devices') or 'inf')
if is_made == '' and redis.call('SCARD', devices_key) >= most then return 'full' end
redis.call('HSET', short_ids_key, short, device)
redis.call('SADD', devices_key, device)
return 'listed'

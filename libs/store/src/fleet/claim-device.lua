-- Output: the epoch, 0 when another session owns the device and lives, or there is no such device (it went with its workspace), -1 when
-- our own session has ended.
-- Epochs only grow, so a later owner always has the larger one. Safe to repeat: a session that owns the device is told the
-- epoch that it has, as it may not have heard of it.
if redis.call('EXISTS', device_key) == 0 then return 0 end
local owner = redis.call('GET', owner_key)
local owning_session, owning_epoch = string.match(owner or '', '^(.*):(%d+)$')
if owning_session and owning_session ~= session_id
  and redis.call('EXISTS', session_prefix .. owning_session) == 1 then return 0 end
if redis.call('EXISTS', session_key) == 0 then return -1 end
if owning_session == session_id then return tonumber(owning_epoch) end
local epoch = redis.call('INCR', epoch_key)
redis.call('SET', owner_key, session_id .. ':' .. epoch)
return epoch

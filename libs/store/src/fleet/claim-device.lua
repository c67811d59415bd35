-- Output: the epoch, 0 when the device has an owner whose session lives, -1 when our own session has ended.
-- Epochs only grow, so a later owner always has the larger one.
local owner = redis.call('GET', owner_key)
if owner and redis.call('EXISTS', session_prefix .. owner:match('^(.*):')) == 1 then return 0 end
if redis.call('EXISTS', session_key) == 0 then return -1 end
local epoch = redis.call('INCR', epoch_key)
redis.call('SET', owner_key, session_id .. ':' .. epoch)
return epoch

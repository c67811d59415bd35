-- Takes a free lease. Epochs only grow, so a later owner always has the larger one.
-- Output: the epoch, or 0 when somebody holds it.
if redis.call('EXISTS', lease_key) == 1 then return 0 end
local epoch = redis.call('INCR', epoch_key)
redis.call('SET', lease_key, owner .. ':' .. epoch, 'PX', ttl_ms)
return epoch

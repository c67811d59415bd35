#!lua flags=allow-oom
-- Takes a free lease. Epochs only grow, so a later owner always has the larger one.
-- KEYS lease, epoch   ARGV owner, ttl ms
-- Output: the epoch, or 0 when somebody holds it.
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local epoch = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. epoch, 'PX', ARGV[2])
return epoch

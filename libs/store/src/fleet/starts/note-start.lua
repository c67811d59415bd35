-- Counts the ownerships of a device that ended with their process, or failed, since one has lasted.
-- This one has `started`, or `lasted`.
-- Output: how many, with the one that is under way
if what == 'lasted' then
  redis.call('DEL', starts_key)
  return 0
end
local starts = redis.call('INCR', starts_key)
redis.call('PEXPIRE', starts_key, ttl_ms)
return starts

#!lua flags=allow-oom
-- Counts the ownerships of a device in a row that did not last.
-- KEYS lease, starts   ARGV token, 'started' | 'lasted', ttl ms
-- Output: how many, with this one; 0 once it has lasted; -1 for a stale owner
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return -1 end
if ARGV[2] == 'lasted' then
  redis.call('DEL', KEYS[2])
  return 0
end
local starts = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return starts

#!lua flags=allow-oom
-- Counts the ownerships of a device that ended with their process, or failed, since one has lasted.
-- KEYS lease, starts   ARGV token, 'started' | 'lasted' | 'ended', ttl ms
--   ended: it began, and ended without a failure. That needs no lease: it may be what was lost.
-- Output: how many, with the one that is under way; -1 for a stale owner
--- @include "check-lease"
if ARGV[2] == 'ended' then
  local starts = tonumber(redis.call('GET', KEYS[2]) or '0')
  if starts > 0 then starts = redis.call('DECR', KEYS[2]) end
  return starts
end
if not holds_lease(KEYS[1], ARGV[1]) then return -1 end
if ARGV[2] == 'lasted' then
  redis.call('DEL', KEYS[2])
  return 0
end
local starts = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return starts

#!lua flags=allow-oom
-- Asks the device's pace for one message: a bucket of `burst` messages that fills at a steady rate (GCRA). The state
-- is one time, so it survives restarts and hand-overs.
-- KEYS lease, pace   ARGV token, now ms, gap ms between messages, burst, furthest ms ahead
-- Output: 0 to go ahead, a number of ms to wait, or -1 when fenced.
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return -1 end
local now, gap, burst = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local written = tonumber(redis.call('HGET', KEYS[2], 'dueMs') or 0)
-- What lies further ahead than this pace can reach was written under a wrong clock, or a slower pace. It is written anew,
-- or it would be as far ahead at each asking.
local due = math.min(math.max(written, now), now + ARGV[5])
local wait = due - (burst - 1) * gap - now
if wait > 0 then
  if due < written then redis.call('HSET', KEYS[2], 'dueMs', due) end
  return math.ceil(wait)
end
redis.call('HSET', KEYS[2], 'dueMs', due + gap)
return 0

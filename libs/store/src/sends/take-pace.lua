-- Asks the device's pace for one message: a bucket of `burst` messages that fills at a steady rate (GCRA). The state
-- is one time, so it survives restarts and hand-overs.
-- Output: 0 to go ahead, or a number of ms to wait.
local now, even_gap = tonumber(now_ms), tonumber(even_gap_ms)
local tolerance = (tonumber(burst) - 1) * even_gap
local written = tonumber(redis.call('HGET', pace_key, 'dueMs') or 0)
-- What lies further ahead than this pace can reach was written under a wrong clock, or a slower pace. It is written again,
-- or it would be as far ahead at each asking.
local due = math.min(math.max(written, now), now + furthest_ms)
local wait = due - tolerance - now
if wait > 0 then
  if due < written then redis.call('HSET', pace_key, 'dueMs', due) end
  return math.ceil(wait)
end
-- Only the gap that the next message has to wait for is uneven: jitter takes nothing from a burst, nor from the rate.
local passes_next = due + even_gap - now <= tolerance
redis.call('HSET', pace_key, 'dueMs', due + (passes_next and even_gap or tonumber(gap_ms)))
return 0

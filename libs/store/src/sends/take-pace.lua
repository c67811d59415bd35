-- Asks the device's pace for one message: a bucket of `burst` messages that fills at a steady rate (GCRA). The state
-- is one time, so it survives restarts and hand-overs.
-- Output: 0 to go ahead, or a number of ms to wait.
local now, gap, burst = tonumber(now_ms), tonumber(gap_ms), tonumber(burst)
local written = tonumber(redis.call('HGET', pace_key, 'dueMs') or 0)
-- What lies further ahead than this pace can reach was written under a wrong clock, or a slower pace. It is written again,
-- or it would be as far ahead at each asking.
local due = math.min(math.max(written, now), now + furthest_ms)
local wait = due - (burst - 1) * gap - now
if wait > 0 then
  if due < written then redis.call('HSET', pace_key, 'dueMs', due) end
  return math.ceil(wait)
end
redis.call('HSET', pace_key, 'dueMs', due + gap)
return 0

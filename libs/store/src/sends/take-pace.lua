-- Asks the device's pace for places of messages: a bucket of `burst` messages that fills at a steady rate (GCRA). The state
-- is one time, so it survives restarts and hand-overs. `gaps` are those after each place that may be given.
-- Output: that time before each place given, and after the last.
local now, even_gap = tonumber(now_ms), tonumber(even_gap_ms)
local tolerance = (tonumber(burst) - 1) * even_gap
local written = redis.call('HGET', pace_key, 'dueMs') or '0'
-- Places that no message used are given back. The same step once more gives the same places again, or later ones: of the first
-- answer nothing was used.
local since = written == unused_until_ms and unused_from_ms or written
-- What lies further ahead than this pace can reach was written under a wrong clock, or a slower pace. It is written again,
-- or it would be as far ahead at each asking.
local due = math.min(tonumber(since), now + furthest_ms)
if due < now - late_ms then due = now end
-- Places that were used late count from then on.
due = math.max(due, tonumber(used_until_ms))
local dues = { string.format('%.3f', due) }
for i = before_gaps + 1, #ARGV do
  if due - tolerance - now > tonumber(ahead_ms) then break end
  -- Only the gap that the next message has to wait for is uneven: jitter takes nothing from a burst, nor from the rate.
  local passes_next = due + even_gap - now <= tolerance
  due = due + (passes_next and even_gap or tonumber(ARGV[i]))
  dues[#dues + 1] = string.format('%.3f', due)
end
if dues[#dues] ~= written then redis.call('HSET', pace_key, 'dueMs', dues[#dues]) end
return dues

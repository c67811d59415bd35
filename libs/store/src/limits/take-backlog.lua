-- Counts messages that are about to wait in a workspace with a limit for these, whichever process takes them; unless they are more than
-- `room` has, less what was counted since the moment of which that is known. By parts of `part_ms`, for ten seconds.
-- Nothing is counted where the limit is gone: its workspace may have been deleted since the caller read it.
-- Output: 1, or 0 when they are too many, and were not counted.
local KEPT_MS = 10000
if redis.call('HEXISTS', limits_key, 'backlog') == 0 then return 1 end
local function part_of(ms) return math.floor(tonumber(ms) / part_ms) end
local counts, left = redis.call('HGETALL', taken_key), tonumber(room) - tonumber(messages)
for i = 1, #counts, 2 do
  local part = tonumber(counts[i])
  -- Of a clock that was ahead, and has been set right. What callers differ by while all is well is far less, and counts.
  if part > part_of(now_ms + KEPT_MS) then redis.call('HDEL', taken_key, counts[i])
  elseif part >= part_of(known_at_ms) then left = left - tonumber(counts[i + 1])
  elseif part < part_of(now_ms - KEPT_MS) then redis.call('HDEL', taken_key, counts[i]) end
end
if left < 0 then return 0 end
redis.call('HINCRBY', taken_key, string.format('%d', part_of(now_ms)), messages)
redis.call('PEXPIRE', taken_key, KEPT_MS)
return 1

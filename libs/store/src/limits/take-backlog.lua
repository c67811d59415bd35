-- Counts messages that are about to wait in a workspace with a limit for these, whichever process takes them; unless they are more than
-- `room` has, less what was counted since the moment of which that is known, and what is not written down yet (`settle-backlog`). By
-- parts of `part_ms`, for ten seconds.
-- Safe to repeat under the same `id`. Nothing is counted where the limit is gone: its workspace may have been deleted since the caller read it.
-- Output: 1, or 0 when they are too many, and were not counted.
local KEPT_MS = 10000
if redis.call('HEXISTS', limits_key, 'backlog') == 0 then return 1 end
local function part_of(ms) return math.floor(tonumber(ms) / part_ms) end
local left, oldest = tonumber(room) - tonumber(messages), part_of(now_ms - KEPT_MS)
local own = string.format('%d %s', part_of(now_ms), id)
local function count_since(first, key)
  local counts = redis.call('HGETALL', key)
  for i = 1, #counts, 2 do
    local part = tonumber(string.match(counts[i], '^%d+'))
    -- Of a clock that was ahead, and has been set right. What callers differ by while all is well is far less, and counts.
    if part > part_of(now_ms + KEPT_MS) then redis.call('HDEL', key, counts[i])
    elseif counts[i] ~= own and part >= first then left = left - tonumber(counts[i + 1])
    elseif part < oldest then redis.call('HDEL', key, counts[i]) end
  end
end
count_since(part_of(known_at_ms), taken_key)
-- Of a process that has died it is not for longer.
count_since(oldest, unwritten_key)
if left < 0 then return 0 end
redis.call('HSET', unwritten_key, own, messages)
redis.call('PEXPIRE', unwritten_key, KEPT_MS)
return 1

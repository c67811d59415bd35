-- Messages that were counted at `taken_at_ms` under this id are written down, or may be; or, with `is_refused`, they are not. Who adds up
-- what waits from now on finds them there. Safe to repeat.
local KEPT_MS = 10000
local function part_of(ms) return string.format('%d', math.floor(tonumber(ms) / part_ms)) end
local own = part_of(taken_at_ms) .. ' ' .. id
local messages = redis.call('HGET', unwritten_key, own)
-- Also when it was counted for too long, or went with its workspace.
if not messages then return end
redis.call('HDEL', unwritten_key, own)
if is_refused ~= '' then return end
redis.call('HINCRBY', taken_key, part_of(now_ms), messages)
redis.call('PEXPIRE', taken_key, KEPT_MS)

-- Writes down what is posted next, before it is: a process that comes after us posts the same. What of it is put aside changes with it.
-- Output: 'done', 'fenced' when another process delivers to this endpoint, or 'idle' when nothing is to be sent, or not as the process
-- has it: the endpoint was changed since, or a person forgotten, or the clock set back.
--- @include write-lane
--- @include change-parked
--- @include tells-all
local status, current, now_forgotten = unpack(redis.call('HMGET', webhook_key, 'status', 'revision', 'forgotten'))
if status ~= 'active' and status ~= 'failing' then return 'idle' end
if current ~= revision or (now_forgotten or '-') ~= forgotten or tells_all() ~= with_all then return 'idle' end
local outcome, is_again = write_lane()
if outcome ~= 'done' then return outcome end
if not is_again then change_parked(before_changes + 1) end
-- A replay that has come to its end. One that had nothing to tell never had a lane, so that its first step looks like a second one too.
if after == '' and redis.call('LINDEX', replays_key, 0) == replay then redis.call('LPOP', replays_key) end
return 'done'

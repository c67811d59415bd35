-- Ends a linking attempt that got no answer, if it is still the one that is wanted. Keys that it was to keep are still there unless they were found invalid.
-- Output: 1, or 0 when the device has moved on.
--- @include history
--- @include tell-device
--- @constants WANT_LINKING WANT_PARKED WANT_UNLINKED
local want, attempt, keeps = unpack(redis.call('HMGET', desired_key, 'want', 'attemptId', 'keepsKeys'))
if want ~= WANT_LINKING or attempt ~= attempt_id then return 0 end
local is_kept = keeps and redis.call('EXISTS', creds_key) == 1
redis.call('HSET', desired_key, 'want', is_kept and WANT_PARKED or WANT_UNLINKED)
redis.call('DEL', observed_key)
redis.call('HSET', observed_key, 'status', 'disconnected', 'reason', reason, 'attemptId', attempt_id, 'sinceMs', now_ms)
note_change('disconnected', reason)
tell_device()
return 1

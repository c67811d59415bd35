#!lua flags=allow-oom
-- Ends a linking attempt that got no answer, if it is still the one that is wanted. Keys that it was to keep are still there when no one has found them dead.
-- KEYS desired, observed, creds   ARGV attempt id, reason, now ms
-- Output: 1, or 0 when the device has moved on.
local want, attempt, keeps = unpack(redis.call('HMGET', KEYS[1], 'want', 'attemptId', 'keepsKeys'))
if want ~= 'linking' or attempt ~= ARGV[1] then return 0 end
local is_kept = keeps and redis.call('EXISTS', KEYS[3]) == 1
redis.call('HSET', KEYS[1], 'want', is_kept and 'parked' or 'unlinked')
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'status', 'disconnected', 'reason', ARGV[2], 'attemptId', ARGV[1], 'sinceMs', ARGV[3])
return 1

-- The user wants no account on this device. Asking again while the first request is being carried out joins it.
-- Output: { 'requested' | 'nothingLinked', attempt id to wait for }, or { 'other', '' } when it is another device, or has another
--   account, than the one of `account_epoch`
--- @constants WANT_UNLINKED
if (redis.call('HGET', device_key, 'accountEpoch') or '0') ~= account_epoch then return { 'other', '' } end
local want, attempt = unpack(redis.call('HMGET', desired_key, 'want', 'attemptId'))
local has_keys = redis.call('EXISTS', creds_key) == 1
if not has_keys and (not want or want == WANT_UNLINKED) then return { 'nothingLinked', '' } end
if want == WANT_UNLINKED and attempt then return { 'requested', attempt } end
redis.call('DEL', desired_key)
redis.call('HSET', desired_key, 'want', WANT_UNLINKED, 'attemptId', attempt_id, 'sinceMs', now_ms)
return { 'requested', attempt_id }

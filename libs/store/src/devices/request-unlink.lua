-- The user wants no account on this device. Asking again while the first request is being carried out joins it.
-- Output: { 'requested' | 'nothingLinked', attempt id to wait for }
local want, attempt = unpack(redis.call('HMGET', desired_key, 'want', 'attemptId'))
local has_keys = redis.call('EXISTS', creds_key) == 1
if not has_keys and (not want or want == 'unlinked') then return { 'nothingLinked', '' } end
if want == 'unlinked' and attempt then return { 'requested', attempt } end
redis.call('DEL', desired_key)
redis.call('HSET', desired_key, 'want', 'unlinked', 'attemptId', attempt_id, 'sinceMs', now_ms)
return { 'requested', attempt_id }

#!lua flags=allow-oom
-- The user wants no account on this device. Asking again while the first request is being carried out joins it.
-- KEYS desired, creds   ARGV attempt id, now ms
-- Output: { 'requested' | 'nothingLinked', attempt id to wait for }
local want, attempt = unpack(redis.call('HMGET', KEYS[1], 'want', 'attemptId'))
local has_keys = redis.call('EXISTS', KEYS[2]) == 1
if not has_keys and (not want or want == 'unlinked') then return { 'nothingLinked', '' } end
if want == 'unlinked' and attempt then return { 'requested', attempt } end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'want', 'unlinked', 'attemptId', ARGV[1], 'sinceMs', ARGV[2])
return { 'requested', ARGV[1] }

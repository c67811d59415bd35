#!lua flags=allow-oom
-- The owner of a device writes one field of an answer: `taken` first, with its token. An answer that the asking process
-- has removed meanwhile is wanted no more.
-- KEYS lease, answer   ARGV token, field, value, ttl ms
-- Output: 'ok' | 'unwanted' | 'fenced'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
if ARGV[2] ~= 'taken' and redis.call('HEXISTS', KEYS[2], 'taken') == 0 then return 'unwanted' end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return 'ok'

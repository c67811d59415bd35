#!lua flags=allow-oom
-- Another account is on the device: what was received, and sent before now, is none of its conversations.
-- KEYS lease, device, received, received times   ARGV token, account, now ms, new sealed id key ('' to keep it)
-- Output: 'ok' | 'fenced'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
redis.call('UNLINK', KEYS[3], KEYS[4])
redis.call('HSET', KEYS[2], 'account', ARGV[2], 'accountSinceMs', ARGV[3])
if ARGV[4] ~= '' then redis.call('HSET', KEYS[2], 'idKey', ARGV[4]) end
return 'ok'

#!lua flags=allow-oom
-- Another client has taken the place of a device: the times at which it did are kept, the newest first.
-- KEYS lease, replaced   ARGV token, now ms, limit, window ms
-- Output: 1 when there were `limit` within the window, which begins anew then; 0; 'fenced'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
local limit = tonumber(ARGV[3])
redis.call('LPUSH', KEYS[2], ARGV[2])
redis.call('LTRIM', KEYS[2], 0, limit - 1)
redis.call('PEXPIRE', KEYS[2], ARGV[4])
local first = redis.call('LINDEX', KEYS[2], limit - 1)
if not first or ARGV[2] - first >= tonumber(ARGV[4]) then return 0 end
redis.call('DEL', KEYS[2])
return 1

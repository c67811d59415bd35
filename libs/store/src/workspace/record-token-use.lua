#!lua flags=allow-oom
-- Remembers when a token was last used, unless that is known well enough already.
-- KEYS token   ARGV now ms, least ms between two writes
-- Output: 1 when written, else 0.
local hash, last = unpack(redis.call('HMGET', KEYS[1], 'hash', 'lastUsedAtMs'))
if not hash or tonumber(ARGV[1]) - tonumber(last or 0) < tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'lastUsedAtMs', ARGV[1])
return 1

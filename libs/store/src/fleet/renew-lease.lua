#!lua flags=allow-oom
-- Extends a lease that is still ours.
-- KEYS lease   ARGV token, ttl ms
-- Output: 1, or 0 when it is not ours any more.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])

#!lua flags=allow-oom
-- Gives a lease back, if it is still ours.
-- KEYS lease   ARGV token
-- Output: 1, or 0 when it was not ours any more.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])

#!lua flags=allow-oom
-- Lets others handle requests under an idempotency key, if it is still ours.
-- KEYS claim   ARGV token
-- Output: 1, or 0 when it was not ours any more.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])

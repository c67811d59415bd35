#!lua flags=allow-oom
-- Changes what an idempotency key stands for, once its request has an answer, unless it stands for another send by now.
-- KEYS idempotency   ARGV message id, answer ('' to forget the key: its repeat is a new request)
-- Output: 1 when it was changed, else 0.
if redis.call('HGET', KEYS[1], 'messageId') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('UNLINK', KEYS[1]) end
redis.call('HSET', KEYS[1], 'answer', ARGV[2])
return 1

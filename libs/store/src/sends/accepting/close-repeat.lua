-- Lets an idempotency key stand for nothing for good, unless it stands for a send already.
-- KEYS idempotency   ARGV ttl ms
-- Output: 1 when it stands for nothing, 0 when it stands for a send.
if redis.call('HEXISTS', KEYS[1], 'messageId') == 1 then return 0 end
redis.call('HSET', KEYS[1], 'closed', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1

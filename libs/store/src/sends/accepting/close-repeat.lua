-- Lets an idempotency key stand for nothing for good, unless it stands for a send already.
-- At a device that is not there it never will: that went with its workspace.
-- Output: 1 when it stands for nothing, 0 when it stands for a send.
if redis.call('EXISTS', device_key) == 0 then return 1 end
if redis.call('HEXISTS', idempotency_key, 'messageId') == 1 then return 0 end
redis.call('HSET', idempotency_key, 'closed', 1)
redis.call('PEXPIRE', idempotency_key, ttl_ms)
return 1

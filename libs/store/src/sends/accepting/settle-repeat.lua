-- Changes what an idempotency key stands for, once its request has an answer, unless it stands for another send by now.
-- Output: 1 when it was changed, else 0.
if redis.call('HGET', idempotency_key, 'messageId') ~= message_id then return 0 end
if answer == '' then return redis.call('UNLINK', idempotency_key) end
redis.call('HSET', idempotency_key, 'answer', answer)
return 1

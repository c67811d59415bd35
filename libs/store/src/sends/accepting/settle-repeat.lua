-- Changes what an idempotency key stands for, once its request has an answer, unless it stands for another send by now. One that stands
-- for nothing again keeps in mind how many sends it stood for: their ids are not given out again.
-- Output: 1 when it was changed, else 0.
if redis.call('HGET', idempotency_key, 'messageId') ~= message_id then return 0 end
if answer == '' then
  redis.call('HDEL', idempotency_key, 'messageId', 'fingerprint', 'answer')
  redis.call('HINCRBY', idempotency_key, 'freed', 1)
  return 1
end
redis.call('HSET', idempotency_key, 'answer', answer)
return 1

-- The owner of a device writes one field of an answer: `taken` first, with its token, and the question waits no more. One that the
-- asking process has withdrawn, and an answer that it has removed, are wanted no more. Safe to repeat.
-- Output: 'ok' | 'unwanted'
local taken = redis.call('HGET', answer_key, 'taken')
if field ~= 'taken' then
  if not taken then return 'unwanted' end
elseif redis.call('HDEL', questions_key, id) == 0 and taken ~= value then
  return 'unwanted'
end
redis.call('HSET', answer_key, field, value)
redis.call('PEXPIRE', answer_key, ttl_ms)
return 'ok'

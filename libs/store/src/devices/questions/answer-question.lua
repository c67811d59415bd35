-- The owner of a device writes one field of an answer: `taken` first, with its token. An answer that the asking process
-- has removed meanwhile is wanted no more.
-- Output: 'ok' | 'unwanted'
if field ~= 'taken' and redis.call('HEXISTS', answer_key, 'taken') == 0 then return 'unwanted' end
redis.call('HSET', answer_key, field, value)
redis.call('PEXPIRE', answer_key, ttl_ms)
return 'ok'

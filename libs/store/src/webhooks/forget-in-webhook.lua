-- A person was forgotten: what was read before is not posted any more, and what is answered to it is not kept. Each time has another name.
if redis.call('EXISTS', webhook_key) == 1 then redis.call('HSET', webhook_key, 'forgotten', name) end

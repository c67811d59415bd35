-- Output: 1 when it was there.
redis.call('SREM', webhooks_key, id)
for i = before_belongings + 1, #KEYS do redis.call('DEL', KEYS[i]) end
return redis.call('DEL', webhook_key)

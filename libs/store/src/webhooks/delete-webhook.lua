-- Output: 1 when it was there.
redis.call('SREM', webhooks_key, id)
redis.call('DEL', attempts_key, times_key)
return redis.call('DEL', webhook_key)

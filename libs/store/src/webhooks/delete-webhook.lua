-- Output: 1 when it was there.
-- Who had it may want the events for a week from now on.
if redis.call('SREM', webhooks_key, id) == 1 and redis.call('HEXISTS', marks_key, 'isOpen') == 1 then
  redis.call('HSET', marks_key, 'readAtMs', now_ms)
end
for i = before_belongings + 1, #KEYS do redis.call('DEL', KEYS[i]) end
return redis.call('DEL', webhook_key)

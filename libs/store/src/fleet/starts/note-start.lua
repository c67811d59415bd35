-- Keeps the ownerships of a device that ended with their process, or failed, since one has lasted.
-- This one has `started`, or `lasted`. Safe to repeat.
-- Output: how many, with the one that is under way
if what == 'lasted' then
  redis.call('DEL', starts_key)
  return 0
end
redis.call('SADD', starts_key, token)
redis.call('PEXPIRE', starts_key, ttl_ms)
return redis.call('SCARD', starts_key)

-- Removes a send that was never promised.
-- KEYS record, recipients, results, accepting   ARGV message id
-- Output: 1, or 0 when it has been opened meanwhile.
if redis.call('HGET', KEYS[1], 'state') ~= 'accepting' then
  redis.call('ZREM', KEYS[4], ARGV[1])
  return 0
end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('ZREM', KEYS[4], ARGV[1])
return 1

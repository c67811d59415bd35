#!lua flags=allow-oom
-- Removes a send that was never promised, with the idempotency key that stands for it: its repeat is a new send.
-- KEYS record, recipients, results, accepting, released blobs [, idempotency]   ARGV message id
-- Output: 1, or 0 when it has been opened meanwhile.
if redis.call('HGET', KEYS[1], 'state') ~= 'accepting' then
  redis.call('ZREM', KEYS[4], ARGV[1])
  return 0
end
local blob = redis.call('HGET', KEYS[1], 'blob')
if blob then redis.call('SADD', KEYS[5], blob) end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('ZREM', KEYS[4], ARGV[1])
if KEYS[6] and redis.call('HGET', KEYS[6], 'messageId') == ARGV[1] then redis.call('UNLINK', KEYS[6]) end
return 1

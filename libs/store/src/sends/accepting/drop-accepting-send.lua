#!lua flags=allow-oom
-- Removes a send that was never promised, with the idempotency key that stands for it: its repeat is a new send.
-- KEYS record, recipients, results, accepting, released blobs, kept [, idempotency]   ARGV message id
-- Output: 1, or 0 when it has been opened meanwhile.
--- @include "book"
if redis.call('HGET', KEYS[1], 'state') ~= 'accepting' then
  redis.call('ZREM', KEYS[4], ARGV[1])
  return 0
end
local blob, owner, bytes = unpack(redis.call('HMGET', KEYS[1], 'blob', 'owner', 'bytes'))
if bytes then count_bytes(KEYS[6], owner, -tonumber(bytes)) end
if blob then redis.call('SADD', KEYS[5], blob) end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('ZREM', KEYS[4], ARGV[1])
if KEYS[7] and redis.call('HGET', KEYS[7], 'messageId') == ARGV[1] then redis.call('UNLINK', KEYS[7]) end
return 1

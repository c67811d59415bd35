-- Removes a send that was never promised, with the idempotency key that stands for it: its repeat is a new send.
-- Output: 1, or 0 when it has been opened meanwhile.
--- @include book
--- @constants ACCEPTING
if redis.call('HGET', record_key, 'state') ~= ACCEPTING then
  redis.call('ZREM', accepting_key, message_id)
  return 0
end
local blob, owner, bytes = unpack(redis.call('HMGET', record_key, 'blob', 'owner', 'bytes'))
if bytes then count_bytes(kept_key, owner, -tonumber(bytes)) end
if blob then redis.call('SADD', released_key, blob) end
redis.call('UNLINK', record_key, recipients_key, results_key)
redis.call('ZREM', accepting_key, message_id)
if idempotency_key and redis.call('HGET', idempotency_key, 'messageId') == message_id then redis.call('UNLINK', idempotency_key) end
return 1

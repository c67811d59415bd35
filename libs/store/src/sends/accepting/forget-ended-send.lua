-- Forgets a send that has ended before its time, for room. What its idempotency key stands for stays answered. Safe to repeat.
--- @include book
if redis.call('ZREM', ended_key(kept_key, owner), entry) == 1 then
  count_bytes(kept_key, owner, -tonumber(string.match(entry, ' (%d+)$')))
end
redis.call('UNLINK', record_key, recipients_key, results_key)
-- After a failed request its key may stand for a later send.
local id = string.match(entry, '^(%S+) ')
if idempotency_key and redis.call('HGET', idempotency_key, 'messageId') == id then
  redis.call('HSET', idempotency_key, 'forgotten', 1)
end
return 1

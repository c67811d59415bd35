#!lua flags=allow-oom
-- Forgets a send that has ended before its time, for room. What its idempotency key stands for stays answered. Safe to repeat.
-- KEYS record, recipients, results, kept [, idempotency]   ARGV owner, entry in their book (message id, bytes)
--- @include "book"
if redis.call('ZREM', ended_key(KEYS[4], ARGV[1]), ARGV[2]) == 1 then
  count_bytes(KEYS[4], ARGV[1], -tonumber(string.match(ARGV[2], ' (%d+)$')))
end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
-- After a failed request its key may stand for a later send.
local id = string.match(ARGV[2], '^(%S+) ')
if KEYS[5] and redis.call('HGET', KEYS[5], 'messageId') == id then redis.call('HSET', KEYS[5], 'forgotten', 1) end
return 1

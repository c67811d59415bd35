-- Forgets a send that has ended before its time, for room. Its idempotency key goes on standing for it. Safe to repeat.
--- @include book
if redis.call('ZREM', ended_key(owner), entry) == 1 then
  count_bytes(owner, -tonumber(string.match(entry, ' (%d+)$')))
end
redis.call('UNLINK', record_key, content_key)
return 1

#!lua flags=allow-oom
-- Remembers that messages to new contacts wait, or that they do not any more; and whom the network refused meanwhile.
-- KEYS lease, restriction, refused contacts   ARGV token, kind ('' when lifted), until ms ('' when unknown), since ms,
--   silent since ms ('' when it answers), tried at ms ('' for never), number, ...
-- Output: 'ok' | 'fenced'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
redis.call('DEL', KEYS[2])
if ARGV[2] == '' then
  redis.call('DEL', KEYS[3])
  return 'ok'
end
redis.call('HSET', KEYS[2], 'kind', ARGV[2], 'untilMs', ARGV[3], 'sinceMs', ARGV[4], 'silentSinceMs', ARGV[5],
  'triedAtMs', ARGV[6])
for i = 7, #ARGV do redis.call('SADD', KEYS[3], ARGV[i]) end
return 'ok'

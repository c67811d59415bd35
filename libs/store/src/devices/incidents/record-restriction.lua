-- Remembers that messages to new contacts wait, or that they do not any more; and whom the network refused meanwhile.
-- `kind` is empty when it was lifted, and each time when it is not known.
--- @include tell-restriction
tell_restriction(kind, until_ms)
redis.call('DEL', restriction_key)
if kind == '' then
  redis.call('DEL', refused_key)
  return 1
end
redis.call('HSET', restriction_key, 'kind', kind, 'untilMs', until_ms, 'sinceMs', since_ms, 'silentSinceMs', silent_since_ms,
  'triedAtMs', tried_at_ms)
for i = before_numbers + 1, #ARGV do redis.call('SADD', refused_key, ARGV[i]) end
return 1

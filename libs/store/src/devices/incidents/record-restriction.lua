-- Remembers that messages to new contacts wait, or that they do not any more; and whom the network refused meanwhile.
-- `kind` is empty when it was lifted, and each time when it is not known.
--- @include outbox
--- @constants PART_RESTRICTION
local before = redis.call('HMGET', restriction_key, 'kind', 'untilMs')
if ((before[1] or '') ~= kind or (before[2] or '') ~= until_ms) and wants_events() then
  local part = struct.pack('>B', PART_RESTRICTION) .. short(kind) .. struct.pack('>I6', tonumber(until_ms) or 0)
  add_to_outbox(string.match(restriction_key, '/([^:/]+):restriction$'), part)
end
redis.call('DEL', restriction_key)
if kind == '' then
  redis.call('DEL', refused_key)
  return 1
end
redis.call('HSET', restriction_key, 'kind', kind, 'untilMs', until_ms, 'sinceMs', since_ms, 'silentSinceMs', silent_since_ms,
  'triedAtMs', tried_at_ms)
for i = before_numbers + 1, #ARGV do redis.call('SADD', refused_key, ARGV[i]) end
return 1

-- What is put aside and waits beyond `longest_ms` is due now: its clock was set back, or its endpoint answers again. What was given up keeps its time.
--- @include parked-key
for _, key in ipairs(redis.call('ZRANGEBYSCORE', due_key, '(' .. longest_ms, '(inf')) do
  local text = redis.call('HGET', parked_key, key)
  if text and not string.find(parse_parked(text).clock, '"endsMs":', 1, true) then redis.call('ZADD', due_key, now_ms, key) end
end

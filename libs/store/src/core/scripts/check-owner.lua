-- A stale owner writes nothing. In front of each step that is declared as fenced.
if redis.call('GET', owner_key) ~= token or redis.call('EXISTS', session_key) == 0 then
  return redis.error_reply('FENCED another process owns the device')
end

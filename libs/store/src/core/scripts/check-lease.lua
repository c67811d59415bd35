-- A stale owner writes nothing. In front of each step that is declared as fenced.
if redis.call('GET', lease_key) ~= token then return redis.error_reply('FENCED another process owns the device') end

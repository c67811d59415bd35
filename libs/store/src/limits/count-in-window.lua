-- One that would last longer than a window was begun while the clock of Redis was ahead.
local requests, left_ms = redis.call('INCR', counter_key), redis.call('PTTL', counter_key)
if left_ms <= 0 or left_ms > tonumber(window_ms) then
  left_ms = tonumber(window_ms)
  redis.call('PEXPIRE', counter_key, left_ms)
end

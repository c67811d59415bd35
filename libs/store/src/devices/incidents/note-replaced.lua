-- Another client has taken the place of a device: the times at which it did are kept, the newest first. Safe to repeat: a
-- time that is kept is not added again, and those that came to the limit stay until the next one comes.
-- Output: 1 when there were `limit` within the window, which begins again then; else 0
local limit = tonumber(limit)
local function is_too_often()
  local newest, first = redis.call('LINDEX', replaced_key, 0), redis.call('LINDEX', replaced_key, limit - 1)
  return first and newest - first < tonumber(window_ms)
end
if redis.call('LINDEX', replaced_key, 0) ~= now_ms then
  if is_too_often() then redis.call('DEL', replaced_key) end
  redis.call('LPUSH', replaced_key, now_ms)
  redis.call('LTRIM', replaced_key, 0, limit - 1)
  redis.call('PEXPIRE', replaced_key, window_ms)
end
return is_too_often() and 1 or 0

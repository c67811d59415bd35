-- Another client has taken the place of a device: the times at which it did are kept, the newest first.
-- Output: 1 when there were `limit` within the window, which begins again then; else 0
local limit = tonumber(limit)
redis.call('LPUSH', replaced_key, now_ms)
redis.call('LTRIM', replaced_key, 0, limit - 1)
redis.call('PEXPIRE', replaced_key, window_ms)
local first = redis.call('LINDEX', replaced_key, limit - 1)
if not first or now_ms - first >= tonumber(window_ms) then return 0 end
redis.call('DEL', replaced_key)
return 1

-- An ownership has ended without a failure: it does not count. Not fenced: the ownership may be what was lost.
local starts = tonumber(redis.call('GET', starts_key) or '0')
if starts > 0 then redis.call('DECR', starts_key) end
return 1

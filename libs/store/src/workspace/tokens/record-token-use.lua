-- Remembers when a token was last used, unless that is known well enough already.
-- Output: 1 when written, else 0.
local hash, last = unpack(redis.call('HMGET', token_key, 'hash', 'lastUsedAtMs'))
if not hash or tonumber(now_ms) - tonumber(last or 0) < tonumber(least_ms) then return 0 end
redis.call('HSET', token_key, 'lastUsedAtMs', now_ms)
return 1

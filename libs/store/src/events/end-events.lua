-- Ends the events of a workspace that has no webhook, and that no one has read for long: who wants them from now on opens them anew.
-- Output: 1 when they are over, 0 when they go on.
if redis.call('SCARD', webhooks_key) > 0 then return 0 end
local read, opened = unpack(redis.call('HMGET', marks_key, 'readAtMs', 'openedAtMs'))
local used = read or opened or '0'
if tonumber(used) > tonumber(unread_since_ms) then return 0 end
redis.call('DEL', marks_key)
return 1

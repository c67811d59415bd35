-- Ends the events of a workspace that has no webhook, and that no one has opened or read for long: who wants them from now on opens
-- them anew. @param only_asks nothing is ended.
-- Output: 1 when they are over, 0 when they go on.
if redis.call('SCARD', webhooks_key) > 0 then return 0 end
local read, opened = unpack(redis.call('HMGET', marks_key, 'readAtMs', 'openedAtMs'))
local used = math.max(tonumber(read or '0'), tonumber(opened or '0'))
if used > tonumber(unread_since_ms) then return 0 end
if only_asks == '' then redis.call('DEL', marks_key) end
return 1

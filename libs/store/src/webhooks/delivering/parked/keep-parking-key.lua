-- Makes `made` the parking key of a workspace, unless it has one. For an endpoint that is gone nothing is kept: its workspace may be gone with it.
-- Output: the key that it has from now on.
local found = redis.call('GET', parking_key_key)
if found then return found end
if redis.call('EXISTS', webhook_key) == 1 then redis.call('SET', parking_key_key, made) end
return made

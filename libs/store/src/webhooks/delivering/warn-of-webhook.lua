-- An endpoint has failed for long, and its next request waits for its time: that others are told so is noted in its breaker with it.
-- @param since_ms when its failures began. @param http_status 0: nothing was answered.
-- Output: 'done', also when it was told by the same step; 'fenced' when it is another process's; 'idle' when it is paused, or its breaker is
-- another: whatever ends its failures empties that.
--- @include tell-webhook
--- @constants TOLD_FAILING
local owner, status, found = unpack(redis.call('HMGET', webhook_key, 'owner', 'status', 'breaker'))
if owner ~= process_id then return 'fenced' end
if status ~= 'failing' then return 'idle' end
if found == after then return 'done' end
if found ~= before then return 'idle' end
redis.call('HSET', webhook_key, 'breaker', after, 'toldSinceMs', since_ms)
tell_webhook(TOLD_FAILING, id, since_ms, http_status)
return 'done'

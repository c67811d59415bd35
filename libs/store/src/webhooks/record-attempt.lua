-- Notes an attempt. An endpoint that has passed its test, as it was then, is active from now on.
-- Output: the status of the endpoint, or 'gone'.
--- @include keep-attempt
local revision, status = unpack(redis.call('HMGET', webhook_key, 'revision', 'status'))
if not status then return 'gone' end
keep_attempt()
if verifies_revision == '' or revision ~= verifies_revision then return status end
redis.call('HSET', webhook_key, 'verifiedAtMs', at_ms)
if status ~= 'unverified' then return status end
redis.call('HSET', webhook_key, 'status', 'active')
return 'active'

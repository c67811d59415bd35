-- Notes an attempt. An endpoint that has passed its test, as it was then, is active from now on; one that fails waits no longer.
-- Output: the status of the endpoint, or 'gone'.
--- @include keep-attempt
local revision, status = unpack(redis.call('HMGET', webhook_key, 'revision', 'status'))
if not status then return 'gone' end
keep_attempt()
if verifies_revision == '' or revision ~= verifies_revision then return status end
redis.call('HSET', webhook_key, 'verifiedAtMs', at_ms)
-- It answers: what waits for it is posted at once, and that shows whether its failures are over.
local breaker = status == 'failing' and redis.call('HGET', webhook_key, 'breaker')
if breaker then redis.call('HSET', webhook_key, 'breaker', (string.gsub(breaker, '"nextAttemptMs":%d+', '"nextAttemptMs":0'))) end
if status ~= 'unverified' then return status end
redis.call('HSET', webhook_key, 'status', 'active')
return 'active'

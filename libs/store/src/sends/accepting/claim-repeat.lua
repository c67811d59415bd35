-- Claims an idempotency key for the request that asks. At a device that is not there, or not to stay, nothing is claimed: it went with its
-- workspace. It would keep no send from being written down twice: that step does.
-- Output: 1, also where this request asks again, as the first answer was lost; or 0 when another one has claimed it.
if redis.call('PTTL', device_key) ~= -1 then return 1 end
if redis.call('GET', claim_key) == token then return 1 end
return redis.call('SET', claim_key, token, 'PX', ttl_ms, 'NX') and 1 or 0

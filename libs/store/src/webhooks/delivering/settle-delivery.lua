-- One request was answered, or not: the place in the lane, the breaker and the attempt change together.
-- An endpoint that was paused or changed meanwhile keeps its status.
-- Output: as claim-delivery.
--- @include write-lane
--- @include keep-attempt
local outcome = write_lane()
if outcome ~= 'done' then return outcome end
keep_attempt()
redis.call('HSET', webhook_key, 'breaker', breaker)
local current = redis.call('HGET', webhook_key, 'status')
if current == 'active' or current == 'failing' then redis.call('HSET', webhook_key, 'status', status) end
return 'done'

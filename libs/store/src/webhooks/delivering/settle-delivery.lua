-- One request was answered, or not: the place in the lane, what is put aside, the breaker and the attempt change together.
-- An endpoint that was paused or changed meanwhile keeps its status and its breaker, and nothing is told of it: it may be at another URL.
-- Without a `breaker` it stays as it is.
-- `tell` is the place in WEBHOOK_TOLD, or empty.
-- Output: as claim-delivery; 'idle' when this was written down, and nothing more is to be sent as the process has it.
--- @include write-lane
--- @include change-parked
--- @include keep-attempt
--- @include tell-webhook
local outcome = write_lane()
if outcome ~= 'done' then return outcome end
local former, current = unpack(redis.call('HMGET', webhook_key, 'status', 'revision'))
local answer = current == revision and 'done' or 'idle'
-- The same step again: all of it was done.
if redis.call('HEXISTS', attempts_key, attempt) == 1 then return answer end
keep_attempt()
change_parked(before_changes + 1)
if breaker == '' or answer == 'idle' then return answer end
redis.call('HSET', webhook_key, 'breaker', breaker)
if former == 'active' or former == 'failing' then
  redis.call('HSET', webhook_key, 'status', status)
  if tell ~= '' then tell_webhook(tonumber(tell), id, since_ms, http_status) end
end
return 'done'

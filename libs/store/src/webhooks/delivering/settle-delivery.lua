-- One request was answered, or not: the place in the lane, what is put aside, the breaker and the attempt change together.
-- An endpoint that was paused or changed meanwhile keeps its status and its breaker, and nothing is told of it: it may be at another URL.
-- Without a `breaker` it stays as it is.
-- `tell` is the place in WEBHOOK_TOLD, or empty. What was told of failures is kept beside the breaker, which a change of the owner empties:
-- they are over with the first success after that, too.
-- Output: as claim-delivery; 'idle' when this was written down, and nothing more is to be sent as the process has it, as after a person was
-- forgotten, too.
--- @include write-lane
--- @include change-parked
--- @include keep-attempt
--- @include tell-webhook
--- @constants TOLD_RECOVERED
local outcome, is_again = write_lane()
if outcome ~= 'done' then return outcome end
local former, current, now_forgotten = unpack(redis.call('HMGET', webhook_key, 'status', 'revision', 'forgotten'))
local is_known = (now_forgotten or '-') == forgotten
local answer = current == revision and is_known and 'done' or 'idle'
if is_again then return answer end
-- What it answered may name a person who was forgotten meanwhile.
if is_known then keep_attempt() end
change_parked(before_changes + 1)
if breaker == '' or current ~= revision then return answer end
redis.call('HSET', webhook_key, 'breaker', breaker)
if former == 'active' or former == 'failing' then
  redis.call('HSET', webhook_key, 'status', status)
  local told = tonumber(tell)
  local told_since = redis.call('HGET', webhook_key, 'toldSinceMs')
  if not told and told_since and breaker == '{}' then told, since_ms = TOLD_RECOVERED, told_since end
  if told == TOLD_RECOVERED then redis.call('HDEL', webhook_key, 'toldSinceMs')
  elseif told then redis.call('HSET', webhook_key, 'toldSinceMs', since_ms) end
  if told then tell_webhook(told, id, since_ms, http_status) end
end
return answer

-- Notes an attempt. An endpoint that has passed its test, as it was then, is active from now on; one that fails waits no longer.
-- It is not kept if a person was forgotten since, whom the answer may name; `forgotten` is empty where it told of none.
-- Output: the status of the endpoint, or 'gone'.
--- @include keep-attempt
local revision, status, now_forgotten = unpack(redis.call('HMGET', webhook_key, 'revision', 'status', 'forgotten'))
if not status then return 'gone' end
if forgotten == '' or (now_forgotten or '-') == forgotten then keep_attempt() end
if verifies_revision == '' or revision ~= verifies_revision then return status end
redis.call('HSET', webhook_key, 'verifiedAtMs', at_ms)
-- It answers: what waits for it is posted at once, and that shows whether its failures are over.
local breaker = status == 'failing' and redis.call('HGET', webhook_key, 'breaker')
if breaker then
  for _, wait in ipairs({ 'nextAttemptMs', 'askedUntilMs' }) do
    breaker = string.gsub(breaker, '"' .. wait .. '":%d+', '"' .. wait .. '":0')
  end
  redis.call('HSET', webhook_key, 'breaker', breaker)
end
for i = before_lanes + 1, #ARGV do
  local field = 'lane:' .. ARGV[i]
  local state = redis.call('HGET', webhook_key, field)
  local until_ms = state and tonumber(string.match(state, '"notBeforeMs":(%d+)'))
  -- A claim without such a wait may be that of a request that is under way.
  if until_ms and until_ms > tonumber(at_ms) or state and not string.find(state, '"claim":', 1, true) then
    for _, wait in ipairs({ 'notBeforeMs', 'nextAttemptMs' }) do
      state = string.gsub(state, '"' .. wait .. '":%d+', '"' .. wait .. '":0')
    end
    redis.call('HSET', webhook_key, field, state)
  end
end
if status ~= 'unverified' then return status end
redis.call('HSET', webhook_key, 'status', 'active')
return 'active'

-- The send's time is over: who is still queued gets nothing any more. One of a former account was cancelled before.
-- Output: how many recipients expired, or were cancelled.
--- @include settle
--- @include cancel
--- @include former
--- @include due
--- @constants EXPIRED
--- @constants OPEN
local state, expires = unpack(redis.call('HMGET', record_key, 'state', 'expiresAtMs'))
if state ~= OPEN then
  redis.call('ZREM', open_key, message_id)
  redis.call('ZREM', due_key, due_entry(record_key))
  return 0
end
if tonumber(expires) > tonumber(now_ms) then return 0 end
if is_of_former_account(record_key, device_key) then return cancel(function() return true end) end
local moved = settle_queued(record_key, results_key, backlog_key, EXPIRED, now_ms, function() return true end)
erase_spent_otp(record_key, erasures_key, now_ms)
close_when_settled(record_key, recipients_key, results_key, open_key, released_key, kept_key, now_ms)
return moved

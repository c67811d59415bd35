-- Cancels who is queued and accepted by `wanted`.
-- Returns how many, or -1 when there is no such send.
--- @include settle
--- @include erase
--- @constants CANCELLED
--- @constants CLOSED
local function cancel(wanted)
  local state = redis.call('HGET', record_key, 'state')
  if not state then return -1 end
  if state == CLOSED then return 0 end
  redis.call('HSETNX', record_key, 'cancelledAtMs', now_ms)
  local moved = settle_queued(record_key, results_key, backlog_key, CANCELLED, now_ms, wanted)
  erase_spent_otp(record_key, erasures_key, now_ms)
  close_when_settled(record_key, recipients_key, results_key, open_key, released_key, kept_key, now_ms)
  return moved
end

-- Cancels who is queued and accepted by `wanted`.
-- Returns how many.
--- @include settle
--- @constants CLOSED CANCELLED
local function cancel(wanted)
  if send.state == CLOSED then return 0 end
  if send.cancelled_at == 0 then send.cancelled_at = tonumber(now_ms) end
  local moved = settle_queued(CANCELLED, wanted)
  save_send()
  return moved
end

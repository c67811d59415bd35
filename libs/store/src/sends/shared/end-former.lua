-- Ends a send of a former account. What a phone may show has failed, as it will never be known; the rest is cancelled.
-- Returns how many recipients were cancelled, and how many failed.
--- @include cancel
--- @include former
--- @constants FAILED ACCOUNT_CHANGED
local function end_of_former_account()
  if send.state == CLOSED then return 0, 0 end
  local failed = settle_queued(FAILED, may_be_shown, ACCOUNT_CHANGED)
  return cancel(function() return true end), failed
end

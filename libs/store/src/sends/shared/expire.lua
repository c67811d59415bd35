-- A send whose time is over: who is still queued gets nothing any more, whichever process owns the device, for a recipient is claimed by a
-- step that compares the time. One of a former account has ended before.
-- Returns how many recipients it ended.
--- @include end-former
--- @constants EXPIRED
local function expire()
  if is_of_former_account() then
    local cancelled, failed = end_of_former_account()
    return cancelled + failed
  end
  local moved = settle_queued(EXPIRED, function() return true end)
  save_send()
  return moved
end

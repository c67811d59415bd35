-- A send whose time is over: who is still queued gets nothing any more, whoever owns the device, for a recipient is claimed by a
-- step that compares the time. One of a former account was cancelled before.
-- Returns how many recipients expired, or were cancelled.
--- @include cancel
--- @include former
--- @constants EXPIRED
local function expire()
  local function everyone() return true end
  if is_of_former_account() then return cancel(everyone) end
  local moved = settle_queued(EXPIRED, everyone)
  save_send()
  return moved
end

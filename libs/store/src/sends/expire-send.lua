-- The send's time is over: who is still queued gets nothing any more. One of a former account was cancelled before.
-- Output: how many recipients expired, or were cancelled.
--- @include cancel
--- @include former
--- @constants EXPIRED OPEN
local function everyone() return true end
if not send or send.state ~= OPEN then
  redis.call('ZREM', open_key, message_id)
  redis.call('ZREM', due_key, due_entry(record_key))
  return 0
end
if send.expires_at > tonumber(now_ms) then return 0 end
if is_of_former_account() then return cancel(everyone) end
local moved = settle_queued(EXPIRED, everyone)
save_send()
return moved

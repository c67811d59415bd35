-- Whether messages to new contacts of a device wait: an entry of the outbox where that, or until when, differs from before.
-- @param kind empty when they do not. @param until_ms empty when it is not known.
--- @include outbox
--- @constants PART_RESTRICTION
local function tell_restriction(kind, until_ms)
  local before = redis.call('HMGET', restriction_key, 'kind', 'untilMs')
  if (before[1] or '') == kind and (before[2] or '') == until_ms or not wants_events() then return end
  local part = struct.pack('>B', PART_RESTRICTION) .. short(kind) .. struct.pack('>I6', tonumber(until_ms) or 0)
  add_to_outbox(string.match(restriction_key, '/([^:/]+):restriction$'), part)
end

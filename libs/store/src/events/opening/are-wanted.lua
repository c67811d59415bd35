-- Whether someone wants the events of a workspace. Who does says so before all else, and who ends them has found that no one does.
local function are_wanted()
  if redis.call('SCARD', webhooks_key) > 0 then return true end
  local opened, is_open = unpack(redis.call('HMGET', marks_key, 'openedAtMs', 'isOpen'))
  return (opened or is_open) ~= false
end

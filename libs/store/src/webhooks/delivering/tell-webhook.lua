-- What became of an endpoint, for the others: it lies in the slot of the workspace's log.
--- @constants EVENT_ENTRY_VERSION PART_WEBHOOK
-- @param since_ms when its failures began. @param http_status 0: nothing was answered.
local function tell_webhook(state, webhook_id, since_ms, http_status)
  if redis.call('EXISTS', log_key) == 0 then return end
  local head = struct.pack('>BI6B', EVENT_ENTRY_VERSION, tonumber(at_ms), 0)
  local id = struct.pack('>Bc0', #webhook_id, webhook_id)
  local part = struct.pack('>BB', PART_WEBHOOK, state) .. id .. struct.pack('>I6I2', since_ms, http_status)
  redis.call('XADD', log_key, 'NOMKSTREAM', '*', 'e', head .. part)
  local prefix, workspace = string.match(log_key, '^(.*):{([^}]*)}:event%-log$')
  redis.call('PUBLISH', prefix .. ':event-bell', workspace)
end

-- Opt-outs lie in the slot of the workspace's log: no outbox is needed.
--- @constants EVENT_ENTRY_VERSION PART_OPT_OUTS
local function tell_opt_outs(is_added, source, phones)
  if #phones == 0 or redis.call('EXISTS', log_key) == 0 then return end
  local words = {}
  for i, phone in ipairs(phones) do words[i] = struct.pack('>Bc0', #phone, phone) end
  local head = struct.pack('>BI6B', EVENT_ENTRY_VERSION, tonumber(now_ms), 0)
  local part = struct.pack('>BBBI2', PART_OPT_OUTS, is_added and 1 or 0, source, #phones)
  redis.call('XADD', log_key, 'NOMKSTREAM', '*', 'e', head .. part .. table.concat(words))
  local prefix, workspace = string.match(log_key, '^(.*):{([^}]*)}:event%-log$')
  redis.call('PUBLISH', prefix .. ':event-bell', workspace)
end

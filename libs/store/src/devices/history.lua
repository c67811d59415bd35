-- What the owners of a device observed: an entry where status or reason differ from the last one. A new code is no change.
local MOST_CHANGES = 500

local function note_change(status, reason)
  local last = redis.call('XREVRANGE', history_key, '+', '-', 'COUNT', 1)[1]
  if last and last[2][2] == status and last[2][4] == reason then return end
  redis.call('XADD', history_key, 'MAXLEN', '~', MOST_CHANGES, '*', 'status', status, 'reason', reason)
end

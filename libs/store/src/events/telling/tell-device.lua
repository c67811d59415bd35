-- What others may know of a device: an entry of the outbox where it differs from what was told last.
-- Between two owners there is no event: the next one goes on where the last one was.
--- @include outbox
--- @constants PART_DEVICE
local UNTOLD = { linking = 1, scan_again = 1, restoring = 1, owner_lost = 1, no_sender = 1, owner_failing = 1, never_linked = 1 }

local function tell_device()
  local now = redis.call('HMGET', observed_key, 'status', 'reason', 'phone', 'name', 'notBeforeMs')
  local status, reason, phone = now[1] or '', now[2] or '', now[3] or ''
  -- A connected device that catches up is a connected device.
  if status == 'connected' then reason = '' end
  local state = status .. '/' .. reason .. '/' .. (status == 'connected' and phone or '')
  local told, account = unpack(redis.call('HMGET', device_key, 'told', 'toldPhone'))
  -- A new link takes the account away that was there until now.
  local ends_connected = reason == 'linking' and string.sub(told or '', 1, 10) == 'connected/'
  if UNTOLD[reason] and not ends_connected then return end
  if told == state then return end
  redis.call('HSET', device_key, 'told', state)
  if phone ~= '' and phone ~= account then redis.call('HSET', device_key, 'toldPhone', phone) end
  -- Whose it was: what is observed of a device that is disconnected has no number.
  if status == 'disconnected' then phone = account or '' end
  if not wants_events() then return end
  local words = short(status) .. short(reason) .. short(phone) .. short(status == 'connected' and now[4] or '')
  local part = struct.pack('>B', PART_DEVICE) .. words .. struct.pack('>I6', tonumber(now[5] or '0') or 0)
  add_to_outbox(string.match(device_key, '/([^:/]+):device$'), part)
end

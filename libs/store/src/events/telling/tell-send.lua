-- What a step changed in a send, as one entry of the outbox.
--- @include outbox
--- @constants PART_CHANGE PART_CHANGES PART_MOVED PART_ENDED OTP SMALL_SEND_RECIPIENTS CLOSED STATUS_NAMES EVENTS_KEPT_MS
local WITH_ERROR = 128
local told_parts, changes, told_count = {}, {}, 0

local function end_changes()
  if #changes == 0 then return end
  local head = #changes == 1 and struct.pack('>B', PART_CHANGE) or struct.pack('>BI2', PART_CHANGES, #changes)
  told_parts[#told_parts + 1] = head .. table.concat(changes)
  changes = {}
end

-- One recipient has another status.
local function tell_change(index, status, err)
  if not wants_events() then return end
  told_count = told_count + 1
  changes[#changes + 1] = err > 0 and struct.pack('>I2BI2', index, status + WITH_ERROR, err) or struct.pack('>I2B', index, status)
end

-- All of these recipients, in rising order, have this status now: a bit each, from the byte of the first on.
local function tell_moved(indices, status, err)
  if #indices == 0 or not wants_events() then return end
  end_changes()
  told_count = told_count + #indices
  local first = math.floor(indices[1] / 8)
  local bytes, at = {}, 1
  for byte = first, math.floor(indices[#indices] / 8) do
    local value = 0
    while indices[at] and math.floor(indices[at] / 8) == byte do
      value = value + 2 ^ (indices[at] % 8)
      at = at + 1
    end
    bytes[#bytes + 1] = string.char(value)
  end
  local bits = table.concat(bytes)
  told_parts[#told_parts + 1] = struct.pack('>BBI2I2I2c0', PART_MOVED, status, err, first, #bits, bits)
end

local function tell_finished()
  if not wants_events() then return end
  end_changes()
  told_count = told_count + 1
  local has, counts = 0, {}
  for status = 0, #STATUS_NAMES do
    local count = send[STATUS_NAMES[status]]
    if count > 0 then
      has = has + 2 ^ status
      counts[#counts + 1] = struct.pack('>I2', count)
    end
  end
  told_parts[#told_parts + 1] = struct.pack('>BB', PART_ENDED, has) .. table.concat(counts)
end

-- After all else, once for each send: what is told is looked up in the send for as long as it can be asked for.
local function tell_send()
  end_changes()
  if #told_parts == 0 then return end
  local device, tag = string.match(record_key, '/([^:/]+):s:([^:]+)$')
  local can_wait = send.kind ~= OTP and send.total > SMALL_SEND_RECIPIENTS
  add_to_outbox(device, table.concat(told_parts), tag, can_wait, told_count)
  if send.state == CLOSED then redis.call('PEXPIREAT', record_key, tonumber(now_ms) + EVENTS_KEPT_MS, 'GT') end
end

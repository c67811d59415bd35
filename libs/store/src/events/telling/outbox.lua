-- The outbox of a workspace in a shard: what changed, written in the step that changes it. It is there while someone wants the
-- events of the workspace (open-events.ts); without it nothing is written. How an entry is built: libs/contracts/src/events/entry.ts.
--- @constants EVENT_ENTRY_VERSION OUTBOX_BYTES OUTBOX_ENTRIES OUTBOX_WEIGHED_EVERY PLACE_LISTS PLACE_OF_SEND
local outbox_is_there = nil

local function wants_events()
  if outbox_is_there == nil then outbox_is_there = redis.call('EXISTS', outbox_key) == 1 end
  return outbox_is_there
end

-- Whether the last entry may be gathered: its place says so.
local function ends_with_lists()
  local last = redis.call('XREVRANGE', outbox_key, '+', '-', 'COUNT', 1)[1]
  return (string.byte(last[2][2], 8) or 0) >= PLACE_LISTS
end

-- Nothing has fetched for long. What ends a list of 10,000 at once is an entry of more than a kilobyte, so bytes count as well: they are looked
-- at where it has come to another few hundred entries, and at each step from there on while it is full. Redis estimates them
-- from five nodes of the stream, as all are about as large.
local function outbox_is_full(entries)
  if entries >= OUTBOX_ENTRIES then return true end
  if entries == 0 or entries % OUTBOX_WEIGHED_EVERY > 0 then return false end
  return redis.call('MEMORY', 'USAGE', outbox_key) >= OUTBOX_BYTES
end

-- @param device its name. @param parts packed. @param tag of a send, or none. @param can_wait whether it may be gathered.
-- @param changes how many it tells, by default one.
local function add_to_outbox(device, parts, tag, can_wait, changes)
  local entries = redis.call('XLEN', outbox_key)
  -- From here on it is only counted how much is missing.
  if outbox_is_full(entries) then return redis.call('INCRBY', outbox_key .. ':missing', changes or 1) end
  -- Who fetches empties it: one bell for all that comes until then, and another for what cannot wait behind what can.
  local rings = entries == 0 or not can_wait and ends_with_lists()
  local place = #device + (tag and PLACE_OF_SEND or 0) + (can_wait and PLACE_LISTS or 0)
  local head = struct.pack('>BI6Bc0', EVENT_ENTRY_VERSION, tonumber(now_ms), place, device)
  local of_send = tag and struct.pack('>I7', tonumber(tag, 16)) or ''
  redis.call('XADD', outbox_key, 'NOMKSTREAM', '*', 'e', head .. of_send .. parts)
  if rings then
    local prefix, shard, workspace = string.match(outbox_key, '^(.*):{#(%d+)}:outbox:(.*)$')
    redis.call('PUBLISH', prefix .. ':outbox-bell', workspace .. '/' .. shard .. (can_wait and '/lists' or ''))
  end
end

-- A text of at most 255 bytes.
local function short(text)
  text = string.sub(text or '', 1, 255)
  return struct.pack('>Bc0', #text, text)
end

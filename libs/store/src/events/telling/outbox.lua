-- The outbox of a workspace in a shard: what changed, written in the step that changes it. It is there while someone wants the
-- events of the workspace (open-events.ts); without it nothing is written. How an entry is built: libs/contracts/src/events/entry.ts.
--- @constants EVENT_ENTRY_VERSION OUTBOX_ENTRIES
local outbox_is_there = nil

local function wants_events()
  if outbox_is_there == nil then outbox_is_there = redis.call('EXISTS', outbox_key) == 1 end
  return outbox_is_there
end

-- @param class 0 is told at once, 1 can wait. @param place device, or device/tag of a send. @param parts packed.
local function add_to_outbox(class, place, parts)
  local entries = redis.call('XLEN', outbox_key)
  -- Nothing has fetched for long: from here on it is only counted how much is missing.
  if entries >= OUTBOX_ENTRIES then return redis.call('INCR', outbox_key .. ':missing') end
  local head = struct.pack('>BBI6Bc0', EVENT_ENTRY_VERSION, class, tonumber(now_ms), #place, place)
  redis.call('XADD', outbox_key, 'NOMKSTREAM', '*', 'e', head .. parts)
  -- Who fetches empties it: one bell for all that comes until then.
  if entries == 0 then
    local prefix, shard, workspace = string.match(outbox_key, '^(.*):{#(%d+)}:outbox:(.*)$')
    redis.call('PUBLISH', prefix .. ':outbox-bell', workspace .. '/' .. shard)
  end
end

-- A text of at most 255 bytes.
local function short(text)
  text = string.sub(text or '', 1, 255)
  return struct.pack('>Bc0', #text, text)
end

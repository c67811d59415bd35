-- Keeps the counts of a send and the backlog of its device in step with its results, and closes a send with nothing
-- left to do: it leaves the open set, lets go of its blob and, when no phone can have it, of its content, and its keys get
-- their time to live.
--- @include results
--- @include book
--- @include due
--- @constants QUEUED CANCELLED STATUS_NAMES SEND_RETENTION_MS IN_FLIGHT_AT ACKED_AT DOUBT_AT
--- @constants OPEN CLOSED SENT DELIVERED READ
local function move_counts(record_key, backlog_key, from, to, recipients)
  redis.call('HINCRBY', record_key, STATUS_NAMES[from], -recipients)
  redis.call('HINCRBY', record_key, STATUS_NAMES[to], recipients)
  if from == QUEUED then
    redis.call('DECRBY', backlog_key, recipients * tonumber(redis.call('HGET', record_key, 'parts')))
  end
end

local function any_may_be_shown(record_key, results_key)
  local sent, delivered, read = unpack(redis.call('HMGET', record_key,
    STATUS_NAMES[SENT], STATUS_NAMES[DELIVERED], STATUS_NAMES[READ]))
  if sent + delivered + read > 0 then return true end
  local all = redis.call('GET', results_key) or ''
  for from = 1, #all, RESULT_BYTES do
    -- In flight, acked and in doubt, by their places: to decode 10,000 results takes five times as long.
    local in_flight, acked = string.byte(all, from + IN_FLIGHT_AT), string.byte(all, from + ACKED_AT)
    if in_flight + acked + string.byte(all, from + DOUBT_AT) > 0 then return true end
  end
  return false
end

local function close_when_settled(record_key, recipients_key, results_key, open_key, released_key, kept_key, now_ms)
  local state, queued, id, blob = unpack(redis.call('HMGET', record_key, 'state', STATUS_NAMES[QUEUED], 'messageId', 'blob'))
  if state ~= OPEN or tonumber(queued) > 0 then return end
  -- No one is to get the file any more; phones that ask again are told where the network has it.
  if blob then redis.call('SADD', released_key, blob) end
  redis.call('HSET', record_key, 'state', CLOSED, 'closedAtMs', now_ms)
  redis.call('ZREM', open_key, id)
  redis.call('ZREM', due_key, due_entry(record_key))
  -- No phone will ask for it again.
  if not any_may_be_shown(record_key, results_key) then redis.call('HDEL', record_key, 'content', 'reply') end
  local dies_at = tonumber(now_ms) + SEND_RETENTION_MS
  redis.call('PEXPIREAT', record_key, dies_at)
  redis.call('PEXPIREAT', recipients_key, dies_at)
  redis.call('PEXPIREAT', results_key, dies_at)
  note_ended(kept_key, record_key, measure_send(kept_key, record_key, recipients_key, results_key), dies_at)
end

-- Gives every recipient that `wanted` accepts the status `to`. Returns how many.
local function settle_queued(record_key, results_key, backlog_key, to, now_ms, wanted)
  local all = redis.call('GET', results_key)
  if not all then return 0 end
  local changed = {}
  local moved = 0
  for from = 1, #all, RESULT_BYTES do
    local bytes = string.sub(all, from, from + RESULT_BYTES - 1)
    local r = decode_result(bytes)
    if r.status == QUEUED and wanted(r) then
      r.status = to
      -- What it was waiting for tells why it expired, and not why it was cancelled.
      if to == CANCELLED then r.err = 0 end
      r.at = tonumber(now_ms)
      bytes = encode_result(r)
      moved = moved + 1
    end
    changed[#changed + 1] = bytes
  end
  if moved > 0 then
    redis.call('SET', results_key, table.concat(changed), 'KEEPTTL')
    move_counts(record_key, backlog_key, QUEUED, to, moved)
  end
  return moved
end

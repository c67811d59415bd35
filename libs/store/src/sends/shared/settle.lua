-- Keeps the counts of a send and the backlog of its device in step with its results, and closes a send with nothing
-- left to do: it leaves the open set, lets go of its blob and, when no phone can have it, of its content, and gets its
-- time to live.
--- @include head
--- @include results
--- @include book
--- @include due
--- @include erase
--- @include activity
--- @include totals
--- @include tell-send
--- @constants QUEUED CANCELLED STATUS_NAMES SEND_RETENTION_MS STATUS_AT IN_FLIGHT_AT ACKED_AT DOUBT_AT OPEN CLOSED
-- Of this step: by status, of failures by error code, and how many messages of each owner wait no more.
local became, failed_of, settled_of = {}, {}, {}
-- Recipients of the send at hand.
local settled = 0

local function note(counts, what, many) counts[what] = (counts[what] or 0) + many end

local function move_counts(from, to, recipients)
  send[STATUS_NAMES[from]] = send[STATUS_NAMES[from]] - recipients
  send[STATUS_NAMES[to]] = send[STATUS_NAMES[to]] + recipients
  local first, last = skipped_between(from, to)
  for passed = first, last do note(became, passed, recipients) end
  note(became, to, recipients)
  move_totals(send.kind, from, to, recipients)
  if from == QUEUED then settled = settled + recipients end
end

local function any_may_be_shown()
  local all = load_places()
  for at = 1 + RECIPIENT_BYTES, #all, PLACE_BYTES do
    -- In flight, acked and in doubt, by their places: to decode 10,000 results takes five times as long.
    local in_flight, acked = string.byte(all, at + IN_FLIGHT_AT), string.byte(all, at + ACKED_AT)
    if in_flight + acked + string.byte(all, at + DOUBT_AT) > 0 then return true end
  end
  return false
end

local function close_when_settled(texts)
  if send.state ~= OPEN or send.queued > 0 then return end
  send.state = CLOSED
  -- No recipient needs the file any more; phones that ask again get its location in the network.
  if texts.blob ~= '' then
    redis.call('SADD', released_key, texts.blob)
    redis.call('ZADD', due_key, now_ms, device_entry(record_key))
  end
  redis.call('ZREM', open_key, texts.message_id)
  redis.call('ZREM', due_key, due_entry(record_key))
  redis.call('ZREM', promised_key, due_entry(record_key))
  local dies_at = tonumber(now_ms) + SEND_RETENTION_MS
  redis.call('PEXPIREAT', record_key, dies_at)
  -- Else no phone will ask for it again.
  local keeps_content = any_may_be_shown()
  if not keeps_content then redis.call('UNLINK', content_key) end
  redis.call('PEXPIREAT', content_key, dies_at, 'LT')
  tell_finished()
  -- With its content it takes what it took before. That of a one-time password is gone in a moment: it is not counted for a week.
  if not keeps_content or send.kind == OTP then measure_send(send, texts.owner, { record_key }) end
  note_ended(texts, send.bytes, dies_at)
end

-- In front of each of several sends: what is left of one with which something went wrong is not the next one's.
local function begin_send()
  settled, told_parts, changes = 0, {}, {}
end

-- Writes down what has become of the send at hand: after its last change.
local function end_send()
  erase_spent_otp()
  if settled > 0 then
    local texts = load_texts(send)
    close_when_settled(texts)
    note(settled_of, texts.owner, settled * send.parts)
  end
  save_head(send)
  tell_send()
end

-- And of all sends of this step together: after the last of them.
local function save_counts()
  local messages = 0
  for owner, many in pairs(settled_of) do
    messages = messages + many
    count_waiting(owner, -many)
  end
  if messages > 0 then redis.call('DECRBY', backlog_key, messages) end
  count_activity(became)
  count_errors(failed_of)
  save_totals()
  became, failed_of, settled_of = {}, {}, {}
end

-- In each step that changes a result of one send.
local function save_send()
  end_send()
  save_counts()
end

-- Gives every recipient that `wanted` accepts the status `to`, and the error `err` if there is one. Returns how many.
local function settle_queued(to, wanted, err)
  local all = load_places()
  -- By error code: those who waited for something say for what.
  local pieces, copied, moved, count = {}, 0, {}, 0
  local function end_of(result)
    local r = decode_result(result)
    if wanted(r) then
      r.status = to
      -- What it was waiting for tells why it expired, and not why it was cancelled.
      if err then r.err = err elseif to == CANCELLED then r.err = 0 end
      r.at = tonumber(now_ms)
      moved[r.err] = moved[r.err] or {}
      return encode_result(r), moved[r.err]
    end
    return false
  end
  -- In a long list most are the same: to decode and encode each would take Redis ten times as long.
  local ends, ended = {}, {}
  for at = 1 + RECIPIENT_BYTES, #all, PLACE_BYTES do
    if string.byte(all, at + STATUS_AT) == QUEUED then
      local result = string.sub(all, at, at + RESULT_BYTES - 1)
      if ends[result] == nil then ends[result], ended[result] = end_of(result) end
      if ends[result] then
        pieces[#pieces + 1] = string.sub(all, copied + 1, at - 1)
        pieces[#pieces + 1] = ends[result]
        copied = at + RESULT_BYTES - 1
        count = count + 1
        ended[result][#ended[result] + 1] = (at - 1 - RECIPIENT_BYTES) / PLACE_BYTES
      end
    end
  end
  if count > 0 then
    redis.call('SETRANGE', record_key, HEAD_BYTES, table.concat(pieces))
    move_counts(QUEUED, to, count)
    if err then note(failed_of, err, count) end
    for code, indices in pairs(moved) do tell_moved(indices, to, code) end
  end
  return count
end

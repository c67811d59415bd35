-- Writes what the network said of recipients of several sends. Statuses only move forward; late and duplicate news change nothing.
-- `events` are (place of the send, recipient, part, event, error code) ..., those of a send in a row; what they mean:
-- libs/contracts/src/sends/statuses.ts.
-- Output for each send: its kind, then for each event the status code of the recipient after it, -1 where there is none, and the ms
-- from the ack to the delivery if that is what it brought, else -1; nothing when the send is gone; { -1, version } when another
-- version of the gateway has written it; an error when it cannot be read.
--- @include each-send
--- @include settle
--- @constants QUEUED SENT DELIVERED READ FAILED CANCELLED
--- @constants ACK_MS_PLACE EVENT_FAILED EVENT_REVOKED EVENT_RETURNED EVENT_HELD EVENT_ACKED EVENT_DELIVERED EVENT_READ OTP
local EVENT_WORDS = 5

local function next_status(r, event)
  if event == EVENT_FAILED then
    return (r.status == QUEUED or r.status == SENT) and FAILED or r.status
  end
  if event == EVENT_REVOKED then return r.status == SENT and FAILED or r.status end
  if event == EVENT_RETURNED or event == EVENT_HELD then
    return (r.status == QUEUED and send.cancelled_at > 0 and not may_be_shown(r)) and CANCELLED or r.status
  end
  if r.status == FAILED or r.status == CANCELLED then return r.status end
  local full = bit.lshift(1, send.parts) - 1
  if r.read == full then return READ end
  if r.delivered == full then return DELIVERED end
  if r.acked == full and r.status == QUEUED then return SENT end
  return r.status
end

-- Returns the status after it, and the ms.
local function take_event(index, part, event, err)
  local r = load_result(index)
  if not r then return -1, -1 end
  local mask = bit.lshift(1, part)
  local before, to_delivery = r.status, -1
  if event ~= EVENT_HELD and event ~= EVENT_REVOKED then r.in_flight = bit.band(r.in_flight, bit.bnot(mask)) end
  if event == EVENT_ACKED or event == EVENT_DELIVERED or event == EVENT_READ then r.acked = bit.bor(r.acked, mask) end
  if event == EVENT_DELIVERED or event == EVENT_READ then r.delivered = bit.bor(r.delivered, mask) end
  if event == EVENT_READ then r.read = bit.bor(r.read, mask) end
  r.status = next_status(r, event)
  if event == EVENT_HELD and r.status == QUEUED then r.err = err end
  if r.status ~= before then
    -- A receipt that comes before the ack says that the network has it, too.
    if before == QUEUED and r.status >= SENT and r.status <= READ then note(became, ACK_MS_PLACE, math.max(0, tonumber(now_ms) - r.at)) end
    if before == SENT and r.status ~= FAILED then to_delivery = math.max(0, tonumber(now_ms) - r.at) end
    if r.status == FAILED then note(failed_of, err, 1) end
    r.at = tonumber(now_ms)
    r.err = r.status == FAILED and err or 0
    -- A caller waits to be told when an OTP was accepted, and its delivery may come before that one looks.
    if send.kind == OTP and send.sent_at == 0 and r.status ~= FAILED and r.status ~= CANCELLED then
      send.sent_at = tonumber(now_ms)
    end
    move_counts(before, r.status, 1)
    tell_change(index, r.status, r.err)
  end
  save_result(index, r)
  return r.status, to_delivery
end

-- One event or more, in these arguments.
local function take_news(first, last)
  local version = open_send(tonumber(ARGV[first]))
  if version then return { -1, version } end
  if not send then return {} end
  begin_send()
  local told = { send.kind }
  for at = first, last, EVENT_WORDS do
    local status, to_delivery = take_event(tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3], tonumber(ARGV[at + 4]))
    told[#told + 1] = status
    told[#told + 1] = to_delivery
  end
  end_send()
  return told
end

local reply, first = {}, before_events + 1
while first <= #ARGV do
  local last = first
  while ARGV[last + EVENT_WORDS] == ARGV[first] do last = last + EVENT_WORDS end
  reply[#reply + 1] = for_one(take_news, first, last)
  first = last + EVENT_WORDS
end
save_counts()
return reply

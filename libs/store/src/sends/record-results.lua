-- Writes what the network said of recipients. Statuses only move forward; late and duplicate news change nothing.
-- `events` are (recipient, part, event, error code) ...; what they mean: libs/contracts/src/sends/statuses.ts.
-- Output: the kind of the send, then for each event the status code of the recipient after it, -1 where there is none, and the ms
-- from the ack to the delivery if that is what it brought, else -1; nothing when the send is gone.
--- @include settle
--- @constants QUEUED SENT DELIVERED READ FAILED CANCELLED
--- @constants ACK_MS_PLACE EVENT_FAILED EVENT_REVOKED EVENT_RETURNED EVENT_HELD EVENT_ACKED EVENT_DELIVERED EVENT_READ OTP
if not send then return {} end
local full = bit.lshift(1, send.parts) - 1

local function next_status(r, event)
  if event == EVENT_FAILED then
    return (r.status == QUEUED or r.status == SENT) and FAILED or r.status
  end
  if event == EVENT_REVOKED then return r.status == SENT and FAILED or r.status end
  if event == EVENT_RETURNED or event == EVENT_HELD then
    return (r.status == QUEUED and send.cancelled_at > 0 and not may_be_shown(r)) and CANCELLED or r.status
  end
  if r.status == FAILED or r.status == CANCELLED then return r.status end
  if r.read == full then return READ end
  if r.delivered == full then return DELIVERED end
  if r.acked == full and r.status == QUEUED then return SENT end
  return r.status
end

local reply = { send.kind }
for i = before_events + 1, #ARGV, 4 do
  local index, mask, event = tonumber(ARGV[i]), bit.lshift(1, tonumber(ARGV[i + 1])), ARGV[i + 2]
  local r = load_result(index)
  if not r then
    reply[#reply + 1] = -1
    reply[#reply + 1] = -1
  else
    local before, to_delivery = r.status, -1
    if event ~= EVENT_HELD and event ~= EVENT_REVOKED then r.in_flight = bit.band(r.in_flight, bit.bnot(mask)) end
    if event == EVENT_ACKED or event == EVENT_DELIVERED or event == EVENT_READ then r.acked = bit.bor(r.acked, mask) end
    if event == EVENT_DELIVERED or event == EVENT_READ then r.delivered = bit.bor(r.delivered, mask) end
    if event == EVENT_READ then r.read = bit.bor(r.read, mask) end
    r.status = next_status(r, event)
    if event == EVENT_HELD and r.status == QUEUED then r.err = tonumber(ARGV[i + 3]) end
    if r.status ~= before then
      -- A receipt that comes before the ack says that the network has it, too.
      if before == QUEUED and r.status >= SENT and r.status <= READ then note(became, ACK_MS_PLACE, math.max(0, tonumber(now_ms) - r.at)) end
      if before == SENT and r.status ~= FAILED then to_delivery = math.max(0, tonumber(now_ms) - r.at) end
      if r.status == FAILED then note(failed_of, tonumber(ARGV[i + 3]), 1) end
      r.at = tonumber(now_ms)
      r.err = r.status == FAILED and tonumber(ARGV[i + 3]) or 0
      -- A caller waits to be told when an OTP was accepted, and its delivery may come before that one looks.
      if send.kind == OTP and send.sent_at == 0 and r.status ~= FAILED and r.status ~= CANCELLED then
        send.sent_at = tonumber(now_ms)
      end
      move_counts(before, r.status, 1)
      tell_change(index, r.status, r.err)
    end
    save_result(index, r)
    reply[#reply + 1] = r.status
    reply[#reply + 1] = to_delivery
  end
end
save_send()
return reply

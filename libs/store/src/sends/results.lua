-- The fixed-width results of a send: libs/contracts/src/sends/send-layout.ts is the same layout in TypeScript.
local RESULT_BYTES = 16
local QUEUED, SENT, DELIVERED, READ, FAILED, EXPIRED, CANCELLED = 0, 1, 2, 3, 4, 5, 6
local STATUS_NAMES = { [0] = 'queued', 'sent', 'delivered', 'read', 'failed', 'expired', 'cancelled' }

local function decode_result(bytes)
  local status, tries, in_flight, acked, err, at, delivered, read, doubt = struct.unpack('>BBBBI2I6BBB', bytes)
  return { status = status, tries = tries, in_flight = in_flight, acked = acked, err = err, at = at,
    delivered = delivered, read = read, doubt = doubt }
end

local function encode_result(r)
  return struct.pack('>BBBBI2I6BBBB', r.status, r.tries, r.in_flight, r.acked, r.err, r.at, r.delivered, r.read,
    r.doubt, 0)
end

local function load_result(results_key, index)
  local from = index * RESULT_BYTES
  local bytes = redis.call('GETRANGE', results_key, from, from + RESULT_BYTES - 1)
  if #bytes < RESULT_BYTES then return nil end
  return decode_result(bytes)
end

local function save_result(results_key, index, r)
  redis.call('SETRANGE', results_key, index * RESULT_BYTES, encode_result(r))
end

-- Whether the phone may show any part of the message, as far as we know: that is never called cancelled.
local function may_be_shown(r)
  return r.in_flight + r.doubt + r.acked > 0
end

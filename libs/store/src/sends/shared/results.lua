-- The fixed-width results of a send, by the layout of libs/contracts/src/sends/send-layout.ts.
--- @constants RESULT_BYTES decode_result encode_result

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

-- The results of a send, by the layout of libs/contracts/src/sends/send-layout.ts.
--- @constants HEAD_BYTES PLACE_BYTES RECIPIENT_BYTES RESULT_BYTES decode_result encode_result
local function result_at(index)
  return HEAD_BYTES + index * PLACE_BYTES + RECIPIENT_BYTES
end

local function load_result(index)
  -- Behind the last place there are texts.
  if not send or index >= send.total then return nil end
  local from = result_at(index)
  return decode_result(redis.call('GETRANGE', record_key, from, from + RESULT_BYTES - 1))
end

local function save_result(index, r)
  redis.call('SETRANGE', record_key, result_at(index), encode_result(r))
end

local function load_places()
  return redis.call('GETRANGE', record_key, HEAD_BYTES, HEAD_BYTES + send.total * PLACE_BYTES - 1)
end

-- Whether the phone may show any part of the message, as far as we know: that is never called cancelled.
local function may_be_shown(r)
  return r.in_flight + r.doubt + r.acked > 0
end

-- What a send has beside its recipients: the head, which steps change as a table and write once, and the texts behind the
-- recipients, which no step changes.
--- @constants HEAD_BYTES PLACE_BYTES encode_head decode_texts
local function save_head(send)
  redis.call('SETRANGE', record_key, 0, encode_head(send))
end

local function load_texts(send)
  return decode_texts(redis.call('GETRANGE', record_key, HEAD_BYTES + send.total * PLACE_BYTES, -1))
end

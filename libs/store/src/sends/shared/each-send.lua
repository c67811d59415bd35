-- For steps on several sends of a device, `sends` being the record and the content of each: the send at hand.
--- @constants HEAD_BYTES knows_version decode_head
local record_key, content_key, send

-- Returns the version of a send that another version of the gateway has written: it is left as it is.
local function open_send(place)
  local at = before_sends + 2 * place
  record_key, content_key = KEYS[at - 1], KEYS[at]
  local head = redis.call('GETRANGE', record_key, 0, HEAD_BYTES - 1)
  local version = string.byte(head)
  send = version and knows_version(version) and decode_head(head) or nil
  return not send and version or nil
end

-- What goes wrong with one send keeps none of the others from their turn: an error in its place.
local function for_one(work, ...)
  local went_well, reply = pcall(work, ...)
  if went_well then return reply end
  return type(reply) == 'table' and reply or redis.error_reply(reply)
end

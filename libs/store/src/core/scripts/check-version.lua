-- The head of a send as `send`, `nil` where there is none. A send that another version of the gateway has written is left as it
-- is. In front of each step that reads one.
--- @constants HEAD_BYTES knows_version decode_head
local head = redis.call('GETRANGE', record_key, 0, HEAD_BYTES - 1)
if head ~= '' and not knows_version(string.byte(head)) then
  return redis.error_reply('UNKNOWN_VERSION ' .. string.byte(head))
end
local send = head ~= '' and decode_head(head) or nil

-- Which of these sends are of a token and of a kind, where one is asked for; those of an unknown version are left out. Of most
-- only a few bytes are taken apart, as there may be thousands.
-- Output: { place among the records, head and texts of that send, ... }, a pair for each.
--- @constants HEAD_BYTES HEAD_KIND_AT HEAD_TOTAL_AT PLACE_BYTES decode_texts knows_version
local wanted_kind = tonumber(kind)
local picked = {}
for i = before_records + 1, #KEYS do
  local head = redis.call('GETRANGE', KEYS[i], 0, HEAD_BYTES - 1)
  local version, of_kind = string.byte(head), string.byte(head, HEAD_KIND_AT + 1)
  if knows_version(version) and (not wanted_kind or of_kind == wanted_kind) then
    local total = struct.unpack('>I2', head, HEAD_TOTAL_AT + 1)
    local texts = redis.call('GETRANGE', KEYS[i], HEAD_BYTES + total * PLACE_BYTES, -1)
    if owner == '' or decode_texts(texts).owner == owner then
      picked[#picked + 1] = i - before_records - 1
      picked[#picked + 1] = head .. texts
    end
  end
end
return picked

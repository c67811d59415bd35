-- Which of these sends have one of these numbers among their recipients. Reads at most MOST_BYTES, but one send at least.
-- Output: { how many of the sends were looked at, key ..., place of the recipient ... } with a pair for each that was found.
--- @constants HEAD_BYTES PLACE_BYTES RECIPIENT_BYTES knows_version
local MOST_BYTES = 512 * 1024
local read, looked, found = 0, 0, {}

-- The first bytes of a number are zero, as many others are: it is sought by those behind.
local function place_of(number, packed)
  local sought = string.gsub(number, '^%z+', '')
  local zeros, from = #number - #sought, HEAD_BYTES + 1
  while true do
    local at = string.find(packed, sought, from, true)
    if not at then return nil end
    local begins = at - zeros
    local place = (begins - HEAD_BYTES - 1) / PLACE_BYTES
    if place == math.floor(place) and string.sub(packed, begins, begins + RECIPIENT_BYTES - 1) == number then return place end
    from = at + 1
  end
end

for i = before_records + 1, #KEYS do
  if read >= MOST_BYTES then break end
  local packed = redis.call('GET', KEYS[i]) or ''
  read, looked = read + #packed, looked + 1
  -- Behind the recipients is text; a number begins with a zero byte, so it is not found there.
  for n = before_numbers + 1, knows_version(string.byte(packed)) and #ARGV or 0 do
    local place = place_of(ARGV[n], packed)
    if place then
      found[#found + 1] = i - before_records - 1
      found[#found + 1] = place
    end
  end
end
return { looked, unpack(found) }

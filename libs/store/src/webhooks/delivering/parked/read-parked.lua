-- Reads what is put aside for some keys: of the first ones that have anything, until there are `together` events of them.
-- Input: `wanted` are (key, how many of its first events at most) ...
-- Output: for each that is there { key, clock, how many events it has, event ... }.
--- @include parked-key
local found, events = {}, 0
for i = before_wanted + 1, #ARGV, 2 do
  local key, most = ARGV[i], tonumber(ARGV[i + 1])
  local text = redis.call('HGET', parked_key, key)
  if text then
    local parked = parse_parked(text)
    local there = parked.next - parked.first
    local row = { key, parked.clock, there + #parked.former }
    in_parts(parked_fields(key, parked.first, math.min(there, most)), function(...)
      for _, event in ipairs(redis.call('HMGET', parked_key, ...)) do row[#row + 1] = event end
    end)
    for j = 1, math.min(#parked.former, most - there) do row[#row + 1] = parked.former[j] end
    found[#found + 1] = row
    events = events + #row - 3
    if events >= tonumber(together) then break end
  end
end
return found

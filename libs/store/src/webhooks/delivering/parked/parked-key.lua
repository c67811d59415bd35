-- One key of what is put aside, in the hash that has all of an endpoint: `<key>` is '<first> <next> <clock>', the number of its first event
-- and of the one that comes next, and how it was tried again; `<key> <number>` is an event. Lua looks into no event. The version
-- before kept a clock and all events in one text, in lines; processes of it, which may be there still, also write such lines behind what is here.
local function parse_parked(text)
  local head, lines = string.match(text, '^([^\n]*)(.*)$')
  local first, coming, clock = string.match(head, '^(%d+) (%d+) (.*)$')
  local parked = { first = tonumber(first or 0), next = tonumber(coming or 0), clock = clock or head, former = {} }
  for line in string.gmatch(lines, '[^\n]+') do parked.former[#parked.former + 1] = line end
  return parked
end

-- How many of its first events the clock is about: none while it is empty, and several where they were in one request without an answer.
local function tried_of(parked)
  if parked.clock == '{}' then return 0 end
  local places = string.match(parked.clock, '"places":(%b[])')
  return places and select(2, string.gsub(places, '%d+', '')) or 1
end

-- Lua passes no more than about eight thousand values at once.
local function in_parts(values, call)
  for i = 1, #values, 4000 do call(unpack(values, i, math.min(i + 3999, #values))) end
end

local function parked_fields(key, from, count)
  local fields = {}
  for n = from, from + count - 1 do fields[#fields + 1] = key .. ' ' .. n end
  return fields
end

-- The key as it is now, and so many events of it that are numbered from `from` on.
local function write_parked(key, parked, events, from)
  local values = { key, parked.first .. ' ' .. parked.next .. ' ' .. parked.clock }
  for i, event in ipairs(events) do
    values[#values + 1] = key .. ' ' .. from + i - 1
    values[#values + 1] = event
  end
  in_parts(values, function(...) redis.call('HSET', parked_key, ...) end)
end

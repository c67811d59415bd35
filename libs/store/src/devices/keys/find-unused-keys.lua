-- Looks through a part of some buckets of keys for those that were last written before a day. Nothing is opened, and
-- nothing but names leaves Redis. Of each bucket there are two arguments: the cursor, '0' to begin, and how many to look at.
-- Output: for each bucket { next cursor ('0' at the end), id ... }
--- @include sealed-day
local function find(bucket, cursor, limit)
  local page = redis.call('HSCAN', bucket, cursor, 'COUNT', limit)
  local found = { page[1] }
  for i = 1, #page[2], 2 do
    if sealed_day(page[2][i + 1]) < tonumber(day) then found[#found + 1] = page[2][i] end
  end
  return found
end

local found = {}
for i, bucket in ipairs(KEYS) do
  found[i] = find(bucket, ARGV[before_pages + 2 * i - 1], ARGV[before_pages + 2 * i])
end
return found

-- Looks through a part of a bucket of keys for those that were last written before a day. Nothing is opened, and
-- nothing but names leaves Redis. The cursor is '0' to begin.
-- Output: { next cursor ('0' at the end), id ... }
--- @include sealed-day
local page = redis.call('HSCAN', bucket_key, cursor, 'COUNT', limit)
local found = { page[1] }
for i = 1, #page[2], 2 do
  if sealed_day(page[2][i + 1]) < tonumber(day) then found[#found + 1] = page[2][i] end
end
return found

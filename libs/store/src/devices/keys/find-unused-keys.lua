-- Looks through a part of a bucket of keys for those that were last written before a day. Nothing is opened, and
-- nothing but names leaves Redis.
-- KEYS bucket   ARGV cursor ('0' to begin), about how many to look at, day (days since 1970)
-- Output: { next cursor ('0' at the end), id ... }
--- @include "sealed-day"
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local found = { page[1] }
for i = 1, #page[2], 2 do
  if sealed_day(page[2][i + 1]) < tonumber(ARGV[3]) then found[#found + 1] = page[2][i] end
end
return found

-- The key that each sealed value of a hash is sealed with, a part of the hash at a time. Nothing is opened, and no value
-- leaves Redis.
-- Output: { next cursor ('0' at the end), field, key id, ... }
local page = redis.call('HSCAN', hash_key, cursor, 'COUNT', limit)
local found = { page[1] }
for i = 1, #page[2], 2 do
  local sealed = page[2][i + 1]
  found[#found + 1] = page[2][i]
  found[#found + 1] = string.sub(sealed, 3, 2 + string.byte(sealed, 2))
end
return found

-- Devices of a shard that have no owner that lives, and work whose time has come: an owner does that by itself.
-- Output: list of workspace/device.

-- A key of a wrong type is for the look at that device to stumble over, and not for all others of its shard.
local function is_there(count)
  return type(count) == 'table' or count > 0
end

local function is_due(base)
  return is_there(redis.pcall('ZCOUNT', base .. ':open-sends', '-inf', now_ms))
    or redis.call('EXISTS', base .. ':released-blobs') == 1
end

local found = {}
for _, name in ipairs(redis.call('SMEMBERS', devices_key)) do
  local base = shard_base .. name
  if is_due(base) then
    local owner = redis.call('GET', base .. ':owner')
    local lives = owner and redis.call('EXISTS', session_prefix .. owner:match('^(.*):')) == 1
    if not lives then found[#found + 1] = name end
  end
end
return found

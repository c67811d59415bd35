-- The devices of a shard that something may be due for: those with open sends, or with files to release.
-- Output: flat list of workspace/device, 1 or 0 (open sends), 1 or 0 (files).
local found = {}
for _, name in ipairs(redis.call('SMEMBERS', devices_key)) do
  local open = redis.call('EXISTS', shard_base .. name .. ':open-sends')
  local released = redis.call('EXISTS', shard_base .. name .. ':released-blobs')
  if open + released > 0 then
    for _, word in ipairs({ name, open, released }) do found[#found + 1] = word end
  end
end
return found

-- What is due in a shard, by the time of Redis: `workspace/device/tag` of each open send, `workspace/device` of files to release.
local function due_entry(record_key)
  local device, tag = string.match(record_key, '([^:]+):s:([^:]+)$')
  return device .. '/' .. tag
end

local function device_entry(record_key)
  return string.match(record_key, '([^:]+):s:[^:]+$')
end

-- With microseconds as its fraction.
local function redis_exact_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end

local function redis_now_ms()
  return math.floor(redis_exact_ms())
end

-- Keeps a message that the device received; forgets those that are too old, and the oldest while all of them take too much.
-- Answers whether it was kept, as nothing was there before, nor under the other ids, and the bytes of all.
--- @include outbox
--- @constants PART_RECEIVED
-- What comes later does not seem to be earlier where another process wrote the last one: their clocks differ by less than ten seconds.
local CLOCKS_DIFFER_MS = 10000
local latest_ms = tonumber(redis.call('ZREVRANGE', received_times_key, 0, 0, 'WITHSCORES')[2]) or 0
if latest_ms > tonumber(now_ms) and latest_ms - now_ms < CLOCKS_DIFFER_MS then now_ms = string.format('%d', latest_ms) end
-- Of one that was forgotten on request only its time is there.
local function bytes_of(id)
  local bytes = redis.call('HSTRLEN', received_key, id)
  return bytes > 0 and bytes + #id + entry_bytes or 0
end
local kept = tonumber(redis.call('GET', received_bytes_key))
if not kept then
  kept = 0
  for _, id in ipairs(redis.call('HKEYS', received_key)) do kept = kept + bytes_of(id) end
end
local function is_taken()
  for at = before_other_ids + 1, #ARGV do
    if redis.call('HEXISTS', received_key, ARGV[at]) == 1 then return true end
  end
  return false
end
-- A second message under an id takes the place of none.
local is_new = is_taken() and 0 or redis.call('HSETNX', received_key, received_id, sealed)
if is_new == 1 then
  redis.call('ZADD', received_times_key, now_ms, received_id)
  kept = kept + bytes_of(received_id)
end
local function forget(id)
  kept = kept - bytes_of(id)
  redis.call('HDEL', received_key, id)
  redis.call('ZREM', received_times_key, id)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', received_times_key, '-inf', now_ms - retention_ms, 'LIMIT', 0, 100)) do forget(id) end
if kept > tonumber(most_bytes) then
  local oldest = redis.call('ZRANGE', received_times_key, 0, 999, 'WITHSCORES')
  local lost_ms
  for at = 1, #oldest, 2 do
    local id = oldest[at]
    if kept <= tonumber(most_bytes) or id == received_id then break end
    forget(id)
    lost_ms = oldest[at + 1]
  end
  -- Who tells of them later learns why they are gone.
  if lost_ms then redis.call('SET', received_lost_key, lost_ms, 'PX', retention_ms) end
end
redis.call('SET', received_bytes_key, math.max(kept, 0), 'PX', retention_ms)
redis.call('PEXPIRE', received_key, retention_ms)
redis.call('PEXPIRE', received_times_key, retention_ms)
if is_new == 1 and wants_events() then
  local device = string.match(received_key, '/([^:/]+):received$')
  add_to_outbox(device, struct.pack('>B', PART_RECEIVED) .. short(received_id))
end
return { is_new, math.max(kept, 0) }

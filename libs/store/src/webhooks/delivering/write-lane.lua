-- The state of a lane, or '' for its end, written by the one process that delivers, if it is what that process believes.
-- Answers also whether that state was there already: the same step again, as its reply was lost.
local function write_lane()
  local lease, found = unpack(redis.call('HMGET', webhook_key, 'lease', 'lane:' .. lane))
  if not lease or lease ~= token then return 'fenced' end
  if (found or '') == after then return 'done', true end
  if (found or '') ~= before then return 'fenced' end
  local time = redis.call('TIME')
  local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('HSET', webhook_key, 'leaseEndsMs', string.format('%d', now_ms + lease_ms))
  if after == '' then redis.call('HDEL', webhook_key, 'lane:' .. lane)
  else redis.call('HSET', webhook_key, 'lane:' .. lane, after) end
  return 'done', false
end

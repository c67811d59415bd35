-- The state of a lane, or '' for its end, written by the one process that delivers, if it is what that process believes.
-- Answers also whether that state was there already: the same step again, as its reply was lost. Each state has a name of its own.
local function write_lane()
  local owner, found = unpack(redis.call('HMGET', webhook_key, 'owner', 'lane:' .. lane))
  if owner ~= process_id then return 'fenced' end
  if (found or '') == after then return 'done', true end
  if (found or '') ~= before then return 'fenced' end
  -- What begins has no name yet: it is known by what is told.
  if lane == 'replay' and before == '' and redis.call('LINDEX', replays_key, 0) ~= replay then return 'fenced' end
  if after == '' then redis.call('HDEL', webhook_key, 'lane:' .. lane)
  else redis.call('HSET', webhook_key, 'lane:' .. lane, after) end
  return 'done', false
end

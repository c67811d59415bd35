-- What happened before an endpoint was made is not for it, by the clock of Redis. Where that clock shows less than when it was made, it was
-- set back since: then all is for it that comes into the log behind its cursors, whenever it happened, from now on.
-- Output: '1', or ''.
local function tells_all()
  local created, is_noted = unpack(redis.call('HMGET', webhook_key, 'createdAtMs', 'tellsAll'))
  if is_noted then return '1' end
  local seconds, micros = unpack(redis.call('TIME'))
  if seconds * 1000 + math.floor(micros / 1000) >= tonumber(created) then return '' end
  redis.call('HSET', webhook_key, 'tellsAll', '1')
  return '1'
end

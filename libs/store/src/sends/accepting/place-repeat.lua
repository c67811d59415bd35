-- Where the idempotency key of a token that any device may serve lies: the first request decides, and a move is won by
-- one of those that would make it.
-- `token_key` is that of the caller, and goes with the workspace.
-- Output: the place that holds now, or '' when the workspace has been deleted.
if token_key and redis.call('EXISTS', token_key) == 0 then return '' end
local place = redis.call('GET', place_key)
if place and place ~= from then
  redis.call('PEXPIRE', place_key, ttl_ms)
  return place
end
redis.call('SET', place_key, wanted, 'PX', ttl_ms)
return wanted

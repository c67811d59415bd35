#!lua flags=allow-oom
-- The network has ended a connection: queries that were open then are counted, the others begin at nothing again.
-- KEYS lease, query ends   ARGV token, limit, ttl ms, all queries as one JSON object: name -> whether it was open,
--   how much this end counts
-- Output: names of the queries that have just come to the limit | 'fenced'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
local limit = tonumber(ARGV[2])
local reached = {}
for query, was_open in pairs(cjson.decode(ARGV[4])) do
  local count = tonumber(redis.call('HGET', KEYS[2], query) or '0')
  if count < limit then
    if was_open then
      count = redis.call('HINCRBY', KEYS[2], query, ARGV[5])
      redis.call('PEXPIRE', KEYS[2], ARGV[3])
      if count >= limit then reached[#reached + 1] = query end
    elseif count > 0 then
      redis.call('HDEL', KEYS[2], query)
    end
  end
end
return reached

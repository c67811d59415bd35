-- The network has ended a connection: queries that were open then are counted, the others begin at nothing again.
-- `queries` is a JSON object of all that can be left out: name -> whether it was open. `blame` is how much this end counts.
-- Output: names of the queries that have just come to the limit
local limit = tonumber(limit)
local reached = {}
for query, was_open in pairs(cjson.decode(queries)) do
  local count = tonumber(redis.call('HGET', query_ends_key, query) or '0')
  if count < limit then
    if was_open then
      count = redis.call('HINCRBY', query_ends_key, query, blame)
      redis.call('PEXPIRE', query_ends_key, ttl_ms)
      if count >= limit then reached[#reached + 1] = query end
    elseif count > 0 then
      redis.call('HDEL', query_ends_key, query)
    end
  end
end
return reached

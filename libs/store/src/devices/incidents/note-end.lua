-- The network has ended a connection: queries that were open then are counted, the others begin at nothing again.
-- `queries` is a JSON object of all that can be left out: name -> whether it was open. `blame` is how much this end counts.
-- Safe to repeat: `end_id` is kept with what was answered.
-- Output: names of the queries that have just come to the limit
if redis.call('HGET', query_ends_key, '#end') == end_id then
  return cjson.decode(redis.call('HGET', query_ends_key, '#reached'))
end
local limit = tonumber(limit)
local reached, counted = {}, false
for query, was_open in pairs(cjson.decode(queries)) do
  local count = tonumber(redis.call('HGET', query_ends_key, query) or '0')
  if count < limit then
    if was_open then
      count = redis.call('HINCRBY', query_ends_key, query, blame)
      counted = true
      if count >= limit then reached[#reached + 1] = query end
    elseif count > 0 then
      redis.call('HDEL', query_ends_key, query)
    end
  end
end
if counted then
  redis.call('HSET', query_ends_key, '#end', end_id, '#reached', cjson.encode(reached))
  redis.call('PEXPIRE', query_ends_key, ttl_ms)
end
return reached

-- Of these outboxes those that hold something, or that are no stream: the relay, which empties such a one, says what is wrong with it.
-- Output: flat list of { place among the keys from 0 on, entries, when the oldest was written in Unix ms }
local reply = {}
for i = before_outboxes + 1, #KEYS do
  local entries = redis.pcall('XLEN', KEYS[i])
  local is_stream = type(entries) == 'number'
  if not is_stream or entries > 0 then
    local oldest = is_stream and redis.call('XRANGE', KEYS[i], '-', '+', 'COUNT', 1)[1]
    reply[#reply + 1] = i - before_outboxes - 1
    reply[#reply + 1] = is_stream and entries or 0
    reply[#reply + 1] = oldest and tonumber(string.match(oldest[1], '^%d+')) or 0
  end
end
return reply

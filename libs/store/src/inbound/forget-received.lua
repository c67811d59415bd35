-- Forgets messages that the device received. When each came stays as long as the log tells that there was one: it is found there by that.
local freed = 0
for at = before_received_ids + 1, #ARGV do
  local id = ARGV[at]
  local bytes = redis.call('HSTRLEN', received_key, id)
  if redis.call('HDEL', received_key, id) == 1 then freed = freed + bytes + #id + entry_bytes end
end
if freed > 0 and redis.call('EXISTS', received_bytes_key) == 1 then redis.call('DECRBY', received_bytes_key, freed) end
return 1

-- Ends a send whose time is over.
-- Output: how many recipients expired, or were cancelled.
--- @include expire
--- @constants OPEN
if not send or send.state ~= OPEN then
  redis.call('ZREM', open_key, message_id)
  redis.call('ZREM', due_key, due_entry(record_key))
  return 0
end
if send.expires_at > tonumber(now_ms) then return 0 end
return expire()

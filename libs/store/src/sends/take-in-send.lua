-- An owner takes a send in: from now on it is due at its expiry, and its owner needs no wake-up before that.
-- One of a former account is cancelled, and one whose time is over, and whose content may have gone, has expired.
-- Output: { packed send, sealed content }, or nothing when nothing is left to do, or it is not to be read yet.
--- @include expire
--- @constants OPEN
if not send or send.state ~= OPEN then
  redis.call('ZREM', due_key, due_entry(record_key))
  return false
end
if send.expires_at <= tonumber(now_ms) or is_of_former_account() then
  expire()
  return false
end
redis.call('ZADD', due_key, send.expires_at, due_entry(record_key))
return is_read == '1' and { redis.call('GET', record_key), redis.call('GET', content_key) }

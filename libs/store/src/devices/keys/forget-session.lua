-- Forgets the session with one device of a contact, unless it was written again meanwhile; with the contact's phone also
-- their privacy token, unless that was: one can come, or be given, without a message. `contact` is '' for a device that is
-- not the phone.
-- Output: 1, or 0 when it was written again or is gone.
--- @include sealed-day
local function is_recent(sealed) return sealed_day(sealed) >= tonumber(day) end
local session = redis.call('HGET', sessions_key, session_id)
if not session or is_recent(session) then return 0 end
redis.call('HDEL', sessions_key, session_id)
redis.call('HDEL', identities_key, session_id)
local privacy_token = redis.call('HGET', tokens_key, contact)
if contact ~= '' and not (privacy_token and is_recent(privacy_token)) then
  redis.call('HDEL', tokens_key, contact)
  redis.call('SREM', contact_index_key, contact)
end
return 1

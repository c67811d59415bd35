#!lua flags=allow-oom
-- Forgets the session with one device of a contact, unless it was written again meanwhile; with the contact's phone also
-- their privacy token, unless that was: one can come, or be given, without a message.
-- KEYS lease, bucket of the session, bucket of its identity, bucket of the contact's token, contact-index
-- ARGV token, session id, contact ('' for a device that is not the phone), day before which it was written
-- Output: 1, 0 when it was written again or is gone, or -1 when fenced.
--- @include "check-lease"
--- @include "sealed-day"
if not holds_lease(KEYS[1], ARGV[1]) then return -1 end
local function is_recent(sealed) return sealed_day(sealed) >= tonumber(ARGV[4]) end
local session = redis.call('HGET', KEYS[2], ARGV[2])
if not session or is_recent(session) then return 0 end
redis.call('HDEL', KEYS[2], ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[2])
local privacy_token = redis.call('HGET', KEYS[4], ARGV[3])
if ARGV[3] ~= '' and not (privacy_token and is_recent(privacy_token)) then
  redis.call('HDEL', KEYS[4], ARGV[3])
  redis.call('SREM', KEYS[5], ARGV[3])
end
return 1

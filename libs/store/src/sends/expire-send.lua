#!lua flags=allow-oom
-- The send's time is over: whoever is still queued gets nothing any more.
-- KEYS lease, record, recipients, results, open, backlog, erasures, released blobs, kept   ARGV token, now ms, retention ms, erasure ms, message id
-- Output: how many recipients expired, or -1 when fenced.
--- @include "check-lease"
--- @include "results"
--- @include "book"
--- @include "settle"
--- @include "erase"
if not holds_lease(KEYS[1], ARGV[1]) then return -1 end
local state, expires = unpack(redis.call('HMGET', KEYS[2], 'state', 'expiresAtMs'))
if state ~= 'open' then
  redis.call('ZREM', KEYS[5], ARGV[5])
  return 0
end
if tonumber(expires) > tonumber(ARGV[2]) then return 0 end
local moved = settle_queued(KEYS[2], KEYS[4], KEYS[6], EXPIRED, ARGV[2], function() return true end)
erase_spent_otp(KEYS[2], KEYS[7], ARGV[2], ARGV[4])
close_when_settled(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[8], KEYS[9], ARGV[2], ARGV[3])
return moved

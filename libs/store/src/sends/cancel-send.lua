#!lua flags=allow-oom
-- Cancels what no phone can have: what was not tried, or was refused for now. What is in flight ends as the network
-- says, unless its account is gone.
-- KEYS record, recipients, results, open, backlog, erasures, released blobs, kept [, lease: its owner finds another account on the device]
-- ARGV now ms, retention ms, erasure ms [, token: cancels also what may have arrived]
-- Output: how many recipients were cancelled, -1 when there is no such send, or 'fenced'.
--- @include "check-lease"
--- @include "results"
--- @include "book"
--- @include "settle"
--- @include "erase"
if KEYS[9] and not holds_lease(KEYS[9], ARGV[4]) then return 'fenced' end
local state = redis.call('HGET', KEYS[1], 'state')
if not state or state == 'accepting' then return -1 end
if state == 'closed' then return 0 end
redis.call('HSETNX', KEYS[1], 'cancelledAtMs', ARGV[1])
local tried_too = KEYS[9] ~= nil
local moved = settle_queued(KEYS[1], KEYS[3], KEYS[5], CANCELLED, ARGV[1], function(r)
  return tried_too or not may_be_shown(r)
end)
erase_spent_otp(KEYS[1], KEYS[6], ARGV[1], ARGV[3])
close_when_settled(KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[7], KEYS[8], ARGV[1], ARGV[2])
return moved

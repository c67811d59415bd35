#!lua flags=allow-oom
-- The last check before a message goes out, and the mark that it may have gone out.
-- A recipient of whose last try nobody knows whether it arrived goes on after a cancel.
-- KEYS lease, record, results   ARGV token, now ms, recipient, part
-- Output: 'claimed' | 'fenced' | 'settled' | 'cancelled' | 'expired'
--- @include "check-lease"
--- @include "results"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
local r = load_result(KEYS[3], tonumber(ARGV[3]))
local mask = bit.lshift(1, tonumber(ARGV[4]))
if not r or r.status ~= QUEUED or bit.band(r.acked, mask) ~= 0 then return 'settled' end
local expires, cancelled = unpack(redis.call('HMGET', KEYS[2], 'expiresAtMs', 'cancelledAtMs'))
if tonumber(expires) <= tonumber(ARGV[2]) then return 'expired' end
if cancelled and not may_be_shown(r) then return 'cancelled' end
-- The try before this one was never answered, and an answer to this one will say nothing of it.
r.doubt = bit.bor(r.doubt, bit.band(r.in_flight, mask))
r.in_flight = bit.bor(r.in_flight, mask)
r.err = 0
r.tries = math.min(r.tries + 1, 255)
r.at = tonumber(ARGV[2])
save_result(KEYS[3], tonumber(ARGV[3]), r)
return 'claimed'

-- The last check before a message goes out, and the mark that it may have gone out.
-- Where the last attempt may have arrived, the recipient goes on after a cancel.
-- Output: 'claimed' | 'settled' | 'cancelled' | 'expired'
--- @include results
--- @include former
--- @constants MOST_ATTEMPTS QUEUED
local r = load_result(tonumber(recipient))
local mask = bit.lshift(1, tonumber(part))
if not r or r.status ~= QUEUED or bit.band(r.acked, mask) ~= 0 then return 'settled' end
if send.expires_at <= tonumber(now_ms) then return 'expired' end
if send.cancelled_at > 0 and not may_be_shown(r) then return 'cancelled' end
if is_of_former_account() then return 'cancelled' end
-- The attempt before this one was never answered, and an answer to this one will say nothing of it.
r.doubt = bit.bor(r.doubt, bit.band(r.in_flight, mask))
r.in_flight = bit.bor(r.in_flight, mask)
r.err = 0
r.attempts = math.min(r.attempts + 1, MOST_ATTEMPTS)
r.at = tonumber(now_ms)
save_result(tonumber(recipient), r)
return 'claimed'

-- Extends a lease that is still ours.
-- Output: 1, or 0 when it is not ours any more.
if redis.call('GET', lease_key) ~= token then return 0 end
return redis.call('PEXPIRE', lease_key, ttl_ms)

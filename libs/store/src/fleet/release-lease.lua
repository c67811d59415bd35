-- Gives a lease back, if it is still ours.
-- Output: 1, or 0 when it was not ours any more.
if redis.call('GET', lease_key) ~= token then return 0 end
return redis.call('DEL', lease_key)

-- Whether `token` (owner:epoch) still holds the lease. A stale owner writes nothing.
local function holds_lease(lease_key, token)
  return redis.call('GET', lease_key) == token
end

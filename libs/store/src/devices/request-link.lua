-- The user wants an account on this device. A running attempt goes on, unless a new one is forced or asked for in
-- another way (method, phone). One that follows a parked device, or such an attempt, tries the keys that are there first, unless it is forced.
-- Output: 'started' | 'inProgress' | 'alreadyLinked' | 'unmade' (there is no such device, or no more) |
--   'other' (it is another one, or has another account, than the one of `account_epoch`)
--- @constants WANT_LINKED WANT_LINKING WANT_PARKED
local made, epoch = unpack(redis.call('HMGET', device_key, 'createdAtMs', 'accountEpoch'))
if not made then return 'unmade' end
if (epoch or '0') ~= account_epoch then return 'other' end
local want, method, phone, keeps = unpack(redis.call('HMGET', desired_key, 'want', 'method', 'phone', 'keepsKeys'))
if is_forced == '' then
  if want == WANT_LINKED then return 'alreadyLinked' end
  if want == WANT_LINKING and method == new_method and (phone or '') == new_phone then return 'inProgress' end
end
redis.call('DEL', desired_key)
redis.call('HSET', desired_key, 'want', WANT_LINKING, 'attemptId', attempt_id, 'method', new_method, 'sinceMs', now_ms)
if is_forced == '' and (want == WANT_PARKED or (want == WANT_LINKING and keeps)) then redis.call('HSET', desired_key, 'keepsKeys', '1') end
if new_phone ~= '' then redis.call('HSET', desired_key, 'phone', new_phone) end
return 'started'

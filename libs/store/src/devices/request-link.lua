-- The user wants an account on this device. A running attempt goes on, unless a new one is forced or asked for in
-- another way (method, phone). One that follows a parked device, or such an attempt, tries the keys that are there first, unless it is forced.
-- Output: 'started' | 'inProgress' | 'alreadyLinked'
local want, method, phone, keeps = unpack(redis.call('HMGET', desired_key, 'want', 'method', 'phone', 'keepsKeys'))
if is_forced == '' then
  if want == 'linked' then return 'alreadyLinked' end
  if want == 'linking' and method == new_method and (phone or '') == new_phone then return 'inProgress' end
end
redis.call('DEL', desired_key)
redis.call('HSET', desired_key, 'want', 'linking', 'attemptId', attempt_id, 'method', new_method, 'sinceMs', now_ms)
if is_forced == '' and (want == 'parked' or (want == 'linking' and keeps)) then redis.call('HSET', desired_key, 'keepsKeys', '1') end
if new_phone ~= '' then redis.call('HSET', desired_key, 'phone', new_phone) end
return 'started'

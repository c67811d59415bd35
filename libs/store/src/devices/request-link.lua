#!lua flags=allow-oom
-- The user wants an account on this device. A running attempt goes on, unless a new one is forced or asked for in
-- another way (method, phone). One that follows a parked device, or such an attempt, tries the keys that are there first, unless it is forced.
-- KEYS desired   ARGV attempt id, method, phone ('' for none), force ('1' or '0'), now ms
-- Output: 'started' | 'inProgress' | 'alreadyLinked'
local want, method, phone, keeps = unpack(redis.call('HMGET', KEYS[1], 'want', 'method', 'phone', 'keepsKeys'))
if ARGV[4] == '0' then
  if want == 'linked' then return 'alreadyLinked' end
  if want == 'linking' and method == ARGV[2] and (phone or '') == ARGV[3] then return 'inProgress' end
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'want', 'linking', 'attemptId', ARGV[1], 'method', ARGV[2], 'sinceMs', ARGV[5])
if ARGV[4] == '0' and (want == 'parked' or (want == 'linking' and keeps)) then redis.call('HSET', KEYS[1], 'keepsKeys', '1') end
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'phone', ARGV[3]) end
return 'started'

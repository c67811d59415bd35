-- Makes a user in one step, unless one of that name was made to its end: what an earlier version has only begun, and what a change left
-- of one that was removed, is begun anew.
-- Output: 1, also where this call asks again, as the first answer was lost; or 0 when the name is taken.
local made, has_role, by = unpack(redis.call('HMGET', user_key, 'createdAtMs', 'role', 'madeBy'))
if made and has_role then return by == attempt and 1 or 0 end
redis.call('DEL', user_key)
redis.call('HSET', user_key, 'createdAtMs', now_ms, 'role', role, 'auth', 'password', 'madeBy', attempt)
redis.call('SADD', users_key, name)
return 1

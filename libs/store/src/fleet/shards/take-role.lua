-- Makes a session the steward of its shard, unless that has one whose session lives. It stays so for as long as it lives.
-- Output: the session that is the steward now, or '' when our own has ended.
local holder = redis.call('GET', steward_key)
if holder and redis.call('EXISTS', session_prefix .. holder) == 1 then return holder end
if redis.call('EXISTS', session_key) == 0 then return '' end
redis.call('SET', steward_key, session_id)
return session_id

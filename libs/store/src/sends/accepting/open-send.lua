-- The job exists: from here on the send is promised. Safe to repeat; the owner does it too when it finds the job first.
-- Output: 1 when it was opened now, 0 when it was open before, -1 when there is no such send (any more).
local state, id, expires, queued, parts = unpack(redis.call('HMGET', record_key, 'state', 'messageId', 'expiresAtMs', 'queued', 'parts'))
if not state then return -1 end
if state ~= 'accepting' then return 0 end
redis.call('HSET', record_key, 'state', 'open')
redis.call('ZREM', accepting_key, id)
redis.call('ZADD', open_key, expires, id)
redis.call('INCRBY', backlog_key, queued * parts)
return 1

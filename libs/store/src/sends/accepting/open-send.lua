#!lua flags=allow-oom
-- The job exists: from here on the send is promised. Safe to repeat; the owner does it too when it finds the job first.
-- KEYS record, accepting, open, backlog
-- Output: 1 when it was opened now, 0 when it was open before, -1 when there is no such send (any more).
local state, id, expires, queued, parts = unpack(redis.call('HMGET', KEYS[1], 'state', 'messageId', 'expiresAtMs', 'queued', 'parts'))
if not state then return -1 end
if state ~= 'accepting' then return 0 end
redis.call('HSET', KEYS[1], 'state', 'open')
redis.call('ZREM', KEYS[2], id)
redis.call('ZADD', KEYS[3], expires, id)
redis.call('INCRBY', KEYS[4], queued * parts)
return 1

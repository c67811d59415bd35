-- The job exists: from here on the send is promised. Safe to repeat; the owner does it too when it finds the job first.
-- One for an account that has left meanwhile ends at once.
-- Output: 1 when it was opened now, 0 when it was open before, -1 when there is no such send (any more).
--- @include cancel
--- @include former
--- @constants ACCEPTING OPEN STATUS_NAMES QUEUED
local state, id, expires, queued, parts = unpack(redis.call('HMGET', record_key, 'state', 'messageId', 'expiresAtMs',
  STATUS_NAMES[QUEUED], 'parts'))
if not state then return -1 end
if state ~= ACCEPTING then return 0 end
redis.call('HSET', record_key, 'state', OPEN)
redis.call('ZREM', accepting_key, id)
redis.call('ZADD', open_key, expires, id)
redis.call('INCRBY', backlog_key, queued * parts)
if is_of_former_account(record_key, device_key) then cancel(function() return true end) end
return 1

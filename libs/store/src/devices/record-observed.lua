-- The owner says what it sees, and may move what is wanted along with it (linking -> linked, linked -> unlinked).
-- It acted on a desired state that it read earlier; when the user has asked for something else since, nothing is written.
-- Output: 'ok' | 'moved'
--- @include history
--- @include tell-device
if (redis.call('HGET', desired_key, 'attemptId') or '') ~= attempt_id then return 'moved' end
if new_want ~= '' then redis.call('HSET', desired_key, 'want', new_want) end
redis.call('DEL', observed_key)
redis.call('HSET', observed_key, unpack(ARGV, before_fields + 1))
local now = redis.call('HMGET', observed_key, 'status', 'reason')
note_change(now[1] or '', now[2] or '')
tell_device()
return 'ok'

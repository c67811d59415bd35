#!lua flags=allow-oom
-- The owner says what it sees, and may move what is wanted along with it (linking -> linked, linked -> unlinked).
-- It acted on a desired state that it read earlier; when the user has asked for something else since, nothing is written.
-- KEYS lease, desired, observed   ARGV token, attempt id acted on ('' for none), new want ('' for no move), field, value, ...
-- Output: 'ok' | 'fenced' | 'moved'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
if (redis.call('HGET', KEYS[2], 'attemptId') or '') ~= ARGV[2] then return 'moved' end
if ARGV[3] ~= '' then redis.call('HSET', KEYS[2], 'want', ARGV[3]) end
redis.call('DEL', KEYS[3])
redis.call('HSET', KEYS[3], unpack(ARGV, 4))
return 'ok'

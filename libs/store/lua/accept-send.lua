-- Writes a send down as `accepting`: durable, but not yet promised. It is opened once its job exists.
-- KEYS record, recipients, results, accepting   ARGV message id, now ms, packed recipients, empty results, field, value, ...
-- Output: 1, or 0 when the tag is taken (make another id).
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'messageId', ARGV[1], 'state', 'accepting', unpack(ARGV, 5))
redis.call('SET', KEYS[2], ARGV[3])
redis.call('SET', KEYS[3], ARGV[4])
redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1])
return 1

-- Writes a send down as `accepting`: durable, but not yet promised. It is opened once its job exists.
-- With an idempotency key the same step makes the key stand for this send, so that a repeat cannot come in between.
-- KEYS record, recipients, results, accepting [, idempotency]
-- ARGV message id, now ms, packed recipients, empty results, ttl ms of the idempotency key, sealed fingerprint, answer, field, value, ...
-- Output: 1, 0 when the tag is taken (make another id), or -1 when the idempotency key stands for a send already.
if KEYS[5] and redis.call('EXISTS', KEYS[5]) == 1 then return -1 end
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'messageId', ARGV[1], 'state', 'accepting', unpack(ARGV, 8))
redis.call('SET', KEYS[2], ARGV[3])
redis.call('SET', KEYS[3], ARGV[4])
redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1])
if KEYS[5] then
  redis.call('HSET', KEYS[1], 'idempotency', KEYS[5])
  redis.call('HSET', KEYS[5], 'messageId', ARGV[1], 'fingerprint', ARGV[6], 'answer', ARGV[7])
  redis.call('PEXPIRE', KEYS[5], ARGV[5])
end
return 1

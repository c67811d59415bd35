-- Writes a send down as `accepting`: durable, but not yet promised. It is opened once its job exists.
-- With an idempotency key the same step makes the key stand for this send, so that a repeat cannot come in between.
-- KEYS record, recipients, results, accepting, kept [, idempotency]
-- ARGV message id, now ms, packed recipients, empty results, ttl ms of the idempotency key, sealed fingerprint, answer,
--   owner, bytes that the sends of this owner may take (0: no matter), 1 when it may be refused for them, field, value, ...
-- Output: { 1, ended send to be forgotten for room ... }, { 0 } when the tag is taken (make another id), { -1 } when the
--   idempotency key stands for a send already, { -2 } when open sends of this owner take all that they may
--- @include "book"
local MOST_FORGOTTEN = 200
if KEYS[6] and redis.call('EXISTS', KEYS[6]) == 1 then return { -1 } end
if redis.call('EXISTS', KEYS[1]) == 1 then return { 0 } end
local owner, quota = ARGV[8], tonumber(ARGV[9])
local ended, bytes = ended_key(KEYS[5], owner), bytes_key(KEYS[5], owner)
local function size_of(entry) return tonumber(string.match(entry, ' (%d+)$')) end
-- Of sends whose time is over: their keys have died by themselves.
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', ended, '-inf', ARGV[2], 'LIMIT', 0, MOST_FORGOTTEN)) do
  redis.call('DECRBY', bytes, size_of(dead))
  redis.call('ZREM', ended, dead)
end
local reply, excess = { 1 }, quota > 0 and tonumber(redis.call('GET', bytes) or '0') - quota or 0
for _, entry in ipairs(excess > 0 and redis.call('ZRANGE', ended, 0, MOST_FORGOTTEN - 1) or {}) do
  if excess <= 0 then break end
  reply[#reply + 1] = entry
  excess = excess - size_of(entry)
end
-- Counted, and not only looked for: of sends that come together, each is told of the same ended ones.
if ARGV[10] == '1' and excess > 0 and #reply <= MOST_FORGOTTEN then return { -2 } end
redis.call('HSET', KEYS[1], 'messageId', ARGV[1], 'state', 'accepting', unpack(ARGV, 11))
redis.call('SET', KEYS[2], ARGV[3])
redis.call('SET', KEYS[3], ARGV[4])
redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1])
measure_send(KEYS[5], KEYS[1], KEYS[2], KEYS[3])
if KEYS[6] then
  redis.call('HSET', KEYS[1], 'idempotency', KEYS[6])
  redis.call('HSET', KEYS[6], 'messageId', ARGV[1], 'fingerprint', ARGV[6], 'answer', ARGV[7])
  redis.call('PEXPIRE', KEYS[6], ARGV[5])
end
return reply

-- Where the idempotency key of a token that any device may serve lies: the first request decides, and a move is won by
-- one of those that would make it.
-- KEYS place   ARGV wanted place, place to move away from ('' for none), ttl ms
-- Output: the place that holds now.
local place = redis.call('GET', KEYS[1])
if place and place ~= ARGV[2] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return place
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ARGV[1]

#!lua flags=allow-oom
-- Puts a value that is sealed with another key in the place of the same one, unless that was written anew or is gone. It
-- needs no lease: what the value says is not changed, and an owner that writes at the same time wins.
-- KEYS key   ARGV field ('' when the key itself is the value), before, after
-- Output: 1, or 0 when the value is another by now
if ARGV[1] == '' then
  if redis.call('GET', KEYS[1]) ~= ARGV[2] then return 0 end
  redis.call('SET', KEYS[1], ARGV[3], 'KEEPTTL')
else
  if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1

#!lua flags=allow-oom
-- Forgets the content of a sent OTP whose time is over.
-- KEYS record, erasures   ARGV message id
redis.call('HDEL', KEYS[1], 'content')
redis.call('ZREM', KEYS[2], ARGV[1])
return 1

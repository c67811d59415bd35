#!lua flags=allow-oom
-- One command on one key, also when Redis is full: for what no caller can make more of.
-- KEYS key   ARGV command, argument, ...
-- Output: the command's.
return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))

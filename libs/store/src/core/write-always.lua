-- One command on one key, also when Redis is full: for what no caller can make more of.
-- Output: the command's.
return redis.call(command, value_key, unpack(ARGV, before_arguments + 1))

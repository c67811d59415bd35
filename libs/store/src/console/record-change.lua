-- Adds a line to an audit log, which keeps the newest. Of one program it keeps fewer, so that none pushes out those of all others.
local id = redis.call('XADD', log_key, 'MINID', '~', oldest_ms, '*', unpack(ARGV, before_fields + 1))
redis.call('XTRIM', log_key, 'MAXLEN', '~', most)
if not lines_key then return end
if redis.call('RPUSH', lines_key, id) > tonumber(most_of_one) then
  redis.call('XDEL', log_key, redis.call('LPOP', lines_key))
end
redis.call('PEXPIRE', lines_key, kept_ms)
-- A node of the stream keeps all of its lines until the last of them has gone: one line of each would keep those that went between them.
if redis.call('XINFO', 'STREAM', log_key)[4] > tonumber(most_nodes) then
  redis.call('XDEL', log_key, redis.call('XRANGE', log_key, '-', '+', 'COUNT', 1)[1][1])
end

-- Takes an entry out of a log. Who comes there is told of a gap if others were in it, too: a stream takes nothing in between, so that is
-- noted in the marks, as `id/what`.
-- Output: 1, or 0 when it is there no more.
if redis.call('XDEL', log_key, id) == 0 then return 0 end
if what == '' then return 1 end
local erased = { id .. '/' .. what }
local oldest_ms = redis.call('TIME')[1] * 1000 - kept_ms
for former, ms in string.gmatch(redis.call('HGET', marks_key, 'erased') or '', '((%d+)%S+)') do
  if tonumber(ms) > oldest_ms then table.insert(erased, former) end
end
redis.call('HSET', marks_key, 'erased', table.concat(erased, ' '))
return 1

-- Makes an empty stream, where there is none.
-- Output: the id that the first entry will be behind
if redis.call('EXISTS', stream_key) == 1 then return redis.call('XINFO', 'STREAM', stream_key)[8] end
local id = redis.call('XADD', stream_key, '*', 'e', '')
redis.call('XDEL', stream_key, id)
return id

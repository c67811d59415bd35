-- Takes an entry out of a log; what is told in its place, if anything, comes behind the last one, with a second field: why.
-- Output: 1, or 0 when it is there no more.
if redis.call('XDEL', log_key, id) == 0 then return 0 end
if instead ~= '' then redis.call('XADD', log_key, '*', 'e', instead, 'why', 'erased') end
return 1

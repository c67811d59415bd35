-- Writes down what is posted next, before it is: a process that comes after us posts the same.
-- Output: 'done', 'fenced' when another process delivers to this endpoint, or 'idle' when nothing is to be sent.
--- @include write-lane
local status = redis.call('HGET', webhook_key, 'status')
if status ~= 'active' and status ~= 'failing' then return 'idle' end
return write_lane()

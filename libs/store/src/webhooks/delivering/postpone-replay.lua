-- Puts the first replay behind the others, with its state: what is left of it lies on a node that is away.
-- Output: 'done', 'waits' when the next one was put behind others before, too, 'alone' when there is no other, or 'fenced' when it is
-- not as the process has it.
local owner, found = unpack(redis.call('HMGET', webhook_key, 'owner', 'lane:replay'))
if owner ~= process_id or found ~= state then return 'fenced' end
local first, second = unpack(redis.call('LRANGE', replays_key, 0, 1))
if first ~= replay then return 'fenced' end
if not second then return 'alone' end
redis.call('HDEL', webhook_key, 'lane:replay')
redis.call('HSET', webhook_key, 'replay:' .. replay, state)
redis.call('LMOVE', replays_key, replays_key, 'LEFT', 'RIGHT')
return redis.call('HEXISTS', webhook_key, 'replay:' .. second) == 1 and 'waits' or 'done'

-- Output: { 'moved' } when another process has the name than the one that was asked, else 'taken', and all fields: the sessions that
-- were left are among them, by shard. They stay until a session of this process takes their place, so this is safe to repeat.
local holder = redis.call('HGET', instance_key, 'process') or ''
if holder ~= former and holder ~= process_id then return { 'moved' } end
redis.call('HSET', instance_key, 'process', process_id)
return { 'taken', unpack(redis.call('HGETALL', instance_key)) }

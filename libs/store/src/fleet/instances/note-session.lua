-- Output: 1, or 0 when another process has the name.
if redis.call('HGET', instance_key, 'process') ~= process_id then return 0 end
redis.call('HSET', instance_key, shard, session_id)
return 1

-- Output: { 'moved' } when another process has the name than the one that was asked, else 'taken' and its sessions, by shard.
if (redis.call('HGET', instance_key, 'process') or '') ~= former then return { 'moved' } end
local left = redis.call('HGETALL', instance_key)
redis.call('DEL', instance_key)
redis.call('HSET', instance_key, 'process', process_id)
table.insert(left, 1, 'taken')
return left

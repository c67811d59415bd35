if redis.call('HGET', instance_key, 'process') ~= process_id then return 0 end
return redis.call('DEL', instance_key)

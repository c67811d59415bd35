if redis.call('GET', owner_key) ~= token then return 0 end
return redis.call('DEL', owner_key)

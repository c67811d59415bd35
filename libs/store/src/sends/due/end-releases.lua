-- The files that the sends of a device had are released, if no other send has ended meanwhile.
if redis.call('EXISTS', released_key) == 0 then redis.call('ZREM', due_key, entry) end
return 1

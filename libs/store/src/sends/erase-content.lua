-- Forgets the content of a sent OTP whose time is over.
redis.call('HDEL', record_key, 'content')
redis.call('ZREM', erasures_key, message_id)
return 1

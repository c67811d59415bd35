redis.call('SET', session_key, '', 'PX', ttl_ms)

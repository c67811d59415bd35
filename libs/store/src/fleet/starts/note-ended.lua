-- An ownership has ended without a failure: it does not count. Not fenced: the ownership may be what was lost.
return redis.call('SREM', starts_key, token)

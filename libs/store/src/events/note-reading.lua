-- Someone reads the events of a workspace: no one ends them for a week.
-- Output: 1 when they are open, else 0: then nothing is noted.
if redis.call('HEXISTS', marks_key, 'isOpen') == 0 then return 0 end
redis.call('HSET', marks_key, 'readAtMs', now_ms)
return 1

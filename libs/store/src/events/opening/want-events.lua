-- Someone wants the events of a workspace: from now on no one ends them for a week.
-- `token_key` is that of the caller, and goes with the workspace.
-- Output: 1 when they are open, 0 when they are to be opened, -1 when the workspace has been deleted.
if token_key and redis.call('EXISTS', token_key) == 0 then return -1 end
redis.call('HSET', marks_key, 'openedAtMs', now_ms)
return redis.call('HEXISTS', marks_key, 'isOpen')

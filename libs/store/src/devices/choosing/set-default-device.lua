-- The device that tokens act on which belong to none. `token_key` is that of the caller, and goes with the workspace.
-- Output: 1, or 0 when the workspace has been deleted
if token_key and redis.call('EXISTS', token_key) == 0 then return 0 end
redis.call('SET', default_key, device)
return 1

-- One request more of a token, in the window that begins with the first of them.
-- `token_key` goes with the workspace.
-- Output: { requests in it, ms until it ends }, { -1 } when the workspace has been deleted
if token_key and redis.call('EXISTS', token_key) == 0 then return { -1 } end
--- @include count-in-window
return { requests, left_ms }

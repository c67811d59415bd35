-- One request more of a token, in the window that begins with the first of them.
-- Output: { requests in it, ms until it ends }
--- @include count-in-window
return { requests, left_ms }

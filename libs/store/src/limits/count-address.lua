-- The same of an address: of these there are as many as callers like, and a full Redis has room for none of them.
--- @include count-in-window
return { requests, left_ms }

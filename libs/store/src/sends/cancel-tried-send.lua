-- Cancels also what may have arrived: its account is gone, and another attempt would come from someone else.
-- Output: how many recipients were cancelled, or -1 when there is no such send.
--- @include cancel
return cancel(function() return true end)

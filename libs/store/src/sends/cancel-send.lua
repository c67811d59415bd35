-- Cancels what no phone can have: what was not tried, or was refused for now. What is in flight ends as the network says.
-- Output: how many recipients were cancelled, or -1 when there is no such send.
--- @include cancel
return cancel(function(r) return not may_be_shown(r) end)

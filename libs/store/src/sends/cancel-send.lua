-- Cancels what no phone can have: what was not attempted, or was refused for now. What is in flight ends as the network says.
-- Of a former account all goes, for another attempt would come from someone else.
-- Output: how many recipients were cancelled, or -1 when there is no such send.
--- @include cancel
--- @include former
if not send then return -1 end
local is_former = is_of_former_account()
return cancel(function(r) return is_former or not may_be_shown(r) end)

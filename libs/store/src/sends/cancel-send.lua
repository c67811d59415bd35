-- Cancels what no phone can have: what was not attempted, or was refused for now. What is in flight ends as the network says.
-- One of a former account ends as a whole, for another attempt would come from someone else.
-- Output: how many recipients were cancelled, or -1 when there is no such send.
--- @include end-former
if not send then return -1 end
if is_of_former_account() then return (end_of_former_account()) end
return cancel(function(r) return not may_be_shown(r) end)

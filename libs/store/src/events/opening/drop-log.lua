-- The log goes, and the last of what there was of the events of a workspace, unless someone wants them again.
-- Output: 1 when nothing is left, 0 when they are wanted.
--- @include are-wanted
if are_wanted() then return 0 end
redis.call('UNLINK', log_key, marks_key)
return 1

-- All that events need is there.
-- Output: 1; 0 when no one wants them any more: what was made is to go again.
--- @include are-wanted
if not are_wanted() then return 0 end
redis.call('HSET', marks_key, 'isOpen', 1)
return 1

-- The last of what there was of the events of a workspace, unless they were opened again meanwhile.
-- Output: 1 when nothing is left, 0 when they are open.
if redis.call('HEXISTS', marks_key, 'isOpen') == 1 then return 0 end
redis.call('DEL', marks_key)
return 1

-- Makes an outbox, where there is none. One that is made or opened anew gets another stamp: who has decided before that to end the events
-- of the workspace leaves it alone. It is empty, unless it `was_there`: then Redis has lost it, and what changed until now is a gap.
-- Output: 1 when Redis had lost it.
--- @include outbox
--- @constants PART_GAP
local is_made = redis.call('EXISTS', outbox_key) == 0
local is_lost = is_made and was_there ~= ''
if is_made then redis.call('XDEL', outbox_key, redis.call('XADD', outbox_key, '*', 'e', '')) end
-- Of how many changes is not known.
if is_lost then add_to_outbox('', struct.pack('>BI4', PART_GAP, 0)) end
if is_made or is_opened_anew ~= '' then redis.call('SET', outbox_stamp_key, stamp) end
return is_lost and 1 or 0

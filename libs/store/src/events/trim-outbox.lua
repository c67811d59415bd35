-- What is in the log leaves the outbox, up to and with the last of it. Where that is there no more, another has trimmed; or Redis went back,
-- and what is there now is not in the log.
-- Output: '' when nothing is left, else the class of the first entry: behind what may be gathered, what cannot wait rings.
--- @constants PLACE_LISTS
if #redis.call('XRANGE', outbox_key, last, last) > 0 then redis.call('XTRIM', outbox_key, 'MINID', behind) end
local first = redis.call('XRANGE', outbox_key, '-', '+', 'COUNT', 1)[1]
if not first then return '' end
return (string.byte(first[2][2], 8) or 0) >= PLACE_LISTS and 'lists' or 'prompt'

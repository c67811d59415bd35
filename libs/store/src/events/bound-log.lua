-- Drops the oldest of a log, up to and with an entry. One that is gone already was dropped by another process, which may have gone further
-- since: nothing goes back.
-- Output: 1 when it dropped something, else 0.
if #redis.call('XRANGE', log_key, last, last) == 0 then return 0 end
-- First: a reader that finds less than it looked for is told so.
redis.call('HSET', marks_key, 'goneTo', last)
redis.call('XTRIM', log_key, 'MINID', behind)
return 1

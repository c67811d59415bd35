-- Makes the log of events that someone wants, where there is none.
-- Output: 'unwanted' when no one wants them, as where the workspace was deleted: then nothing is made. 'open' when all else was there, too,
-- before this; 'opening' when it was not.
--- @include are-wanted
if not are_wanted() then return 'unwanted' end
if redis.call('EXISTS', log_key) == 0 then redis.call('XDEL', log_key, redis.call('XADD', log_key, '*', 'e', '')) end
-- Cursors of a former log are of no use.
redis.call('HSETNX', marks_key, 'goneTo', redis.call('XINFO', 'STREAM', log_key)[8])
-- What comes late is noted from now on (append-events.lua).
redis.call('HSETNX', marks_key, 'lateFromMs', redis.call('TIME')[1] * 1000)
return redis.call('HEXISTS', marks_key, 'isOpen') == 1 and 'open' or 'opening'

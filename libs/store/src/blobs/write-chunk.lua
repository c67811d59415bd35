-- Writes a piece of a blob that some send holds; its workspace may have been deleted meanwhile. It lives as long as the blob may,
-- or longer where a send asked for that.
if redis.call('EXISTS', holders_key) == 0 then return 0 end
local dies_at = math.max(tonumber(dies_at_ms), redis.call('PEXPIRETIME', chunk_key))
redis.call('SET', chunk_key, sealed, 'PXAT', string.format('%d', dies_at))
return 1

-- Writes a piece of a blob. It lives as long as the blob may, or longer where a send asked for that meanwhile.
-- KEYS chunk   ARGV sealed bytes, dies at ms
local dies_at = math.max(tonumber(ARGV[2]), redis.call('PEXPIRETIME', KEYS[1]))
redis.call('SET', KEYS[1], ARGV[1], 'PXAT', string.format('%d', dies_at))
return 1

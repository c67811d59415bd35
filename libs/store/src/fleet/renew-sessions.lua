-- Output: for each session 1, or 0 when it has ended.
local alive = {}
for i, session in ipairs(KEYS) do alive[i] = redis.call('PEXPIRE', session, ttl_ms) end
return alive

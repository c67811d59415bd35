#!lua flags=allow-oom
-- Takes a question back that is not waited for any more. What it counted towards the cap is given back, and the answer
-- removed, when no owner has begun to answer: none has taken it, or the one who did refused it. Once, as either goes with it.
-- KEYS questions, answer, counter of the day   ARGV id, count (0: none)
-- Output: 'unanswered' | 'begun'
local waited = redis.call('HDEL', KEYS[1], ARGV[1]) == 1
local taken, refused = redis.call('HEXISTS', KEYS[2], 'taken'), redis.call('HEXISTS', KEYS[2], 'refused')
local parts = redis.call('HLEN', KEYS[2]) - taken - refused
if parts > 0 or (refused == 0 and (taken == 1 or not waited)) then return 'begun' end
redis.call('UNLINK', KEYS[2])
local count = math.min(tonumber(ARGV[2]), tonumber(redis.call('GET', KEYS[3]) or '0'))
if count > 0 then redis.call('DECRBY', KEYS[3], count) end
return 'unanswered'

-- Takes a question back that is not waited for any more. What it counted towards the cap is given back, and the answer
-- removed, when no owner has begun to answer: none has taken it, or the one who did refused it. Once: the answer says so for a while.
-- Output: 'unanswered' | 'begun'
if redis.call('HEXISTS', answer_key, 'withdrawn') == 1 then return 'unanswered' end
local waited = redis.call('HDEL', questions_key, id) == 1
local taken, refused = redis.call('HEXISTS', answer_key, 'taken'), redis.call('HEXISTS', answer_key, 'refused')
local parts = redis.call('HLEN', answer_key) - taken - refused
if parts > 0 or (refused == 0 and (taken == 1 or not waited)) then return 'begun' end
redis.call('UNLINK', answer_key)
redis.call('HSET', answer_key, 'withdrawn', 1)
redis.call('PEXPIRE', answer_key, ttl_ms)
local count = math.min(tonumber(count), tonumber(redis.call('GET', counter_key) or '0'))
if count > 0 then redis.call('DECRBY', counter_key, count) end
return 'unanswered'

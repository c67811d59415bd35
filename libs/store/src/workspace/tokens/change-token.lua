-- Changes what a token is, if it is there: its workspace may have been deleted. With `is_once` the first value stays.
-- Output: 1, or 0 when there is no such token.
if redis.call('HEXISTS', token_key, 'hash') == 0 then return 0 end
redis.call(is_once ~= '' and 'HSETNX' or 'HSET', token_key, field, value)
return 1

-- A number and a hidden identifier are of one person: the identifier leads to the number from now on, and what was kept
-- of the person under the identifier alone is kept under the number.
-- `is_always` is '' when they are joined only if there is something to move.
-- A value below 0 is a number that an identifier leads to: libs/store/src/workspace/hidden-opt-outs.ts.
local value = redis.call('HGET', hidden_bucket_key, hidden_entry)
local isOptOut = value and tonumber(value) > 0
if not isOptOut and is_always == '' then return 0 end
if isOptOut then
  if redis.call('HSETNX', phone_bucket_key, phone, value) == 0 then redis.call('DECR', count_key) end
  redis.call('SETBIT', in_use_key, phone_bucket_number, 1)
end
redis.call('HSET', hidden_bucket_key, hidden_entry, '-' .. phone)
redis.call('SETBIT', in_use_key, hidden_bucket_number, 1)
return 1

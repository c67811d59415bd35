-- A number and a hidden identifier are of one person: the identifier leads to the number from now on, and what was kept
-- of the person under the identifier alone is kept under the number.
-- `is_always` is '' when they are joined only if there is something to move.
-- Those who know the identifier alone are told the number, if it is new on the list, and then that the identifier is on it no more.
-- A workspace without the name of any device has been deleted: nothing comes to it any more.
-- A value below 0 is a number that an identifier leads to: libs/store/src/workspace/hidden-opt-outs.ts.
--- @include tell-opt-outs
--- @constants MOST_OPT_OUT_SOURCES
if redis.call('EXISTS', short_ids_key) == 0 then return 0 end
local value = redis.call('HGET', hidden_bucket_key, hidden_entry)
local isOptOut = value and tonumber(value) > 0
if not isOptOut and is_always == '' then return 0 end
if isOptOut then
  local source = tonumber(value) % MOST_OPT_OUT_SOURCES
  local is_new = redis.call('HSETNX', phone_bucket_key, phone, value) == 1
  if is_new then tell_opt_outs(true, source, { phone }) else redis.call('DECR', count_key) end
  tell_opt_outs(false, source, { hidden_entry })
  redis.call('SETBIT', in_use_key, phone_bucket_number, 1)
end
redis.call('HSET', hidden_bucket_key, hidden_entry, '-' .. phone)
redis.call('SETBIT', in_use_key, hidden_bucket_number, 1)
return 1

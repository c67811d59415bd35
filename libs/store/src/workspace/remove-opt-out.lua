-- Takes a person off the list. A reply takes back what a reply did before it, and nothing else.
-- Output: 1, or 0 when nothing was removed.
-- `reply_seconds` is '' for an operator. What a value is: libs/contracts/src/people/opt-outs.ts.
--- @include tell-opt-outs
--- @constants MOST_OPT_OUT_SOURCES BY_REPLY
if token_key and redis.call('EXISTS', token_key) == 0 then return -1 end
-- A workspace without the name of any device has been deleted: nothing comes to it any more.
if reply_seconds ~= '' and redis.call('EXISTS', short_ids_key) == 1 then
  redis.call('ZADD', starts_key, 'GT', reply_seconds, entry)
  redis.call('ZREMRANGEBYSCORE', starts_key, '-inf', math.floor((now_ms - starts_kept_ms) / 1000))
  redis.call('PEXPIRE', starts_key, starts_kept_ms)
end
local value = tonumber(redis.call('HGET', bucket_key, entry))
-- Below 0 it is no opt-out, but the number that a hidden identifier leads to.
if not value or value < 0 then return 0 end
if reply_seconds ~= '' then
  local latest = tonumber(reply_seconds) * MOST_OPT_OUT_SOURCES + BY_REPLY
  if value % MOST_OPT_OUT_SOURCES ~= BY_REPLY or value > latest then return 0 end
end
redis.call('HDEL', bucket_key, entry)
redis.call('DECR', count_key)
if redis.call('EXISTS', bucket_key) == 0 then redis.call('SETBIT', in_use_key, bucket_number, 0) end
tell_opt_outs(false, tonumber(by), { entry })
return 1

-- Puts people onto the list of those who want no messages. Those on it stay as they came;
-- but a later reply refreshes the time of an earlier one, so that an old START does not take it back.
-- `entries` are (bucket from 1, its number, field) ...
-- `sign_key` is there for as long as the workspace is, unless `is_sure` says that it is there.
-- Output: { how many are new, how many there was no room for }, { -1 } when the workspace has been deleted
-- What a value is: libs/contracts/src/people/opt-outs.ts.
--- @include tell-opt-outs
--- @constants MOST_OPT_OUT_SOURCES BY_REPLY
if is_sure == '' and redis.call('EXISTS', sign_key) == 0 then return { -1 } end
local function is_reply(held) return held % MOST_OPT_OUT_SOURCES == BY_REPLY end
-- The network may bring what a person wrote in another order.
local function wrote_start_since(person)
  if not is_reply(tonumber(value)) then return false end
  local started = tonumber(redis.call('ZSCORE', starts_key, person) or 0)
  return started > math.floor(tonumber(value) / MOST_OPT_OUT_SOURCES)
end
local room = tonumber(most) - tonumber(redis.call('GET', count_key) or '0')
local added, refused, phones = 0, 0, {}
for i = before_entries + 1, #ARGV, 3 do
  local bucket, field = KEYS[before_buckets + tonumber(ARGV[i])], ARGV[i + 2]
  local held = tonumber(redis.call('HGET', bucket, field))
  if held then
    if is_reply(tonumber(value)) and held > 0 and is_reply(held) and held < tonumber(value) then
      redis.call('HSET', bucket, field, value)
    end
  elseif added >= room then
    refused = refused + 1
  elseif not wrote_start_since(field) then
    redis.call('HSET', bucket, field, value)
    redis.call('SETBIT', in_use_key, ARGV[i + 1], 1)
    added = added + 1
    phones[added] = field
  end
end
if added > 0 then redis.call('INCRBY', count_key, added) end
tell_opt_outs(true, tonumber(value) % MOST_OPT_OUT_SOURCES, phones)
return { added, refused }

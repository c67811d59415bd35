-- Forgets keys that are about people whose sessions are gone, unless one was written again meanwhile: a session or a token
-- of the same person keeps it.
-- `names` are of each: (bucket from 1, field), how many keep it, (bucket, field of what keeps it) ...
-- Output: how many were forgotten.
--- @include sealed-day
local at = before_names + 1
local function take_place()
  at = at + 2
  return KEYS[before_buckets + tonumber(ARGV[at - 2])], ARGV[at - 1]
end
local forgotten = 0
while at <= #ARGV do
  local bucket, field = take_place()
  local last = at + 2 * tonumber(ARGV[at])
  at = at + 1
  local kept = false
  while at <= last do
    if redis.call('HEXISTS', take_place()) == 1 then kept = true end
  end
  local sealed = redis.call('HGET', bucket, field)
  if sealed and not kept and sealed_day(sealed) < tonumber(day) then
    redis.call('HDEL', bucket, field)
    redis.call('SREM', contact_index_key, field)
    forgotten = forgotten + 1
  end
end
return forgotten

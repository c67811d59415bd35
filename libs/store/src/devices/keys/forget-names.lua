#!lua flags=allow-oom
-- Forgets keys that are about people whose sessions are gone, unless one was written again meanwhile: a session or a token
-- of the same person keeps it.
-- KEYS lease, contact-index, bucket...
-- ARGV token, day before which it was written, then of each: bucket number in KEYS from 1, field, how many keep it, (bucket number, field of what keeps it) ...
-- Output: how many were forgotten, or -1 when fenced.
--- @include "check-lease"
--- @include "sealed-day"
if not holds_lease(KEYS[1], ARGV[1]) then return -1 end
local at = 3
local function take_place()
  at = at + 2
  return KEYS[2 + tonumber(ARGV[at - 2])], ARGV[at - 1]
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
  if sealed and not kept and sealed_day(sealed) < tonumber(ARGV[2]) then
    redis.call('HDEL', bucket, field)
    redis.call('SREM', KEYS[2], field)
    forgotten = forgotten + 1
  end
end
return forgotten

-- All devices of a shard, or the named ones, that have an owner, or of which something is wanted that has not come about.
-- Output: flat list of workspace/device, want, session of the owner that lives, or ''.
--- @constants WANT_PARKED WANT_UNLINKED
-- A process has many devices under one session.
local lives = {}
local function living(owner)
  if not owner then return '' end
  local session = owner:match('^(.*):')
  if lives[session] == nil then lives[session] = redis.call('EXISTS', session_prefix .. session) == 1 end
  return lives[session] and session or ''
end

local function has_come_about(want, attempt, base)
  if want == WANT_PARKED then return true end
  if want ~= WANT_UNLINKED then return false end
  return redis.call('EXISTS', base .. ':creds') == 0 and redis.call('HGET', base .. ':observed', 'attemptId') == attempt
end

local names = #ARGV > before_names and { unpack(ARGV, before_names + 1) } or redis.call('SMEMBERS', devices_key)
local found = {}
for _, name in ipairs(names) do
  local base = shard_base .. name
  local want, attempt = unpack(redis.call('HMGET', base .. ':desired', 'want', 'attemptId'))
  if want then
    local session = living(redis.call('GET', base .. ':owner'))
    if session ~= '' or not has_come_about(want, attempt, base) then
      found[#found + 1] = name
      found[#found + 1] = want
      found[#found + 1] = session
    end
  end
end
return found

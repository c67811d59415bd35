-- An owner takes sends in: from now on each is due at its expiry, and its owner needs no wake-up before that.
-- One of a former account is cancelled, and one whose time is over, and whose content may have gone, has expired.
-- `reads`: for each how many bytes its owner takes of it now; 0 if it is read later.
-- Output for each: { packed send, sealed content }, empty where that is more; nothing when nothing is left to do; its version when
-- another version of the gateway has written it; an error when it cannot be read.
--- @include each-send
--- @include expire
--- @constants OPEN
local function take_in(place, most)
  local version = open_send(place)
  if version then return version end
  begin_send()
  if not send or send.state ~= OPEN then
    redis.call('ZREM', due_key, due_entry(record_key))
    return false
  end
  if send.expires_at <= tonumber(now_ms) or is_of_former_account() then
    expire()
    return false
  end
  redis.call('ZADD', due_key, send.expires_at, due_entry(record_key))
  if redis.call('STRLEN', record_key) + redis.call('STRLEN', content_key) > most then return {} end
  return { redis.call('GET', record_key), redis.call('GET', content_key) }
end

local reply = {}
for place = 1, #ARGV - before_reads do reply[place] = for_one(take_in, place, tonumber(ARGV[before_reads + place])) end
return reply

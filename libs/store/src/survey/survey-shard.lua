-- What there is in a shard, counted, so that the reply is as small for a thousand devices as for one.
-- Output: { messages in the backlog, open sends, overdue sends, promised finish of the most overdue one or 0,
--   flat list of what the status of a device is made of, and how many devices it is the same for }
--- @constants OPEN HEAD_BYTES knows_version decode_head
local MOST_LOOKED_AT = 100
local lives = {}
local function is_owned(base)
  local owner = redis.call('GET', base .. ':owner')
  local session = owner and owner:match('^(.*):')
  if not session then return false end
  if lives[session] == nil then lives[session] = redis.call('EXISTS', session_prefix .. session) == 1 end
  return lives[session]
end

local messages, sends, kinds = 0, 0, {}
for _, name in ipairs(redis.call('SMEMBERS', devices_key)) do
  local base = shard_base .. name
  messages = messages + math.max(0, tonumber(redis.call('GET', base .. ':backlog') or 0))
  sends = sends + redis.call('ZCARD', base .. ':open-sends')
  local desired = redis.call('HMGET', base .. ':desired', 'want', 'attemptId', 'keepsKeys')
  local observed = redis.call('HMGET', base .. ':observed', 'status', 'reason', 'attemptId', 'phone')
  local kind = table.concat({
    desired[1] or '', desired[3] and '1' or '', observed[1] or '', observed[2] or '', observed[4] and '1' or '',
    desired[2] == observed[3] and '1' or '', is_owned(base) and '1' or '',
  }, ' ')
  kinds[kind] = (kinds[kind] or 0) + 1
end

local function is_open(entry)
  local device, tag = entry:match('^(.*)/([^/]*)$')
  local head = redis.call('GETRANGE', shard_base .. device .. ':s:' .. tag, 0, HEAD_BYTES - 1)
  if #head < HEAD_BYTES then return false end
  -- What another version has written counts as open until that version ends it.
  return not knows_version(string.byte(head)) or decode_head(head).state == OPEN
end

-- One that a version has ended which knew nothing of promises is not overdue.
local oldest = 0
local overdue = redis.call('ZRANGEBYSCORE', promised_key, '-inf', now_ms, 'WITHSCORES', 'LIMIT', 0, MOST_LOOKED_AT)
for i = 1, #overdue, 2 do
  if is_open(overdue[i]) then
    oldest = overdue[i + 1]
    break
  end
  redis.call('ZREM', promised_key, overdue[i])
end

local reply = { messages, sends, redis.call('ZCOUNT', promised_key, '-inf', now_ms), tonumber(oldest) }
for kind, count in pairs(kinds) do
  reply[#reply + 1] = kind
  reply[#reply + 1] = count
end
return reply

-- What the sends of one owner take at a device: the bytes of all that are kept, which of them have ended, and the messages
-- that wait. Only its texts say whose a send is, so the names of these keys are made here, of the one in KEYS; all are in one slot.
--- @include keep
--- @constants BOOK_MS
local ELSEWHERE_BYTES = 400 -- In sets of ids, in these books, for times to live.

local function ended_key(owner) return kept_key .. ':ended:' .. owner end
local function bytes_key(owner) return kept_key .. ':bytes:' .. owner end
local function waiting_key(owner) return kept_key .. ':waiting:' .. owner end

local function count_bytes(owner, bytes)
  redis.call('INCRBY', bytes_key(owner), bytes)
  keep_for(bytes_key(owner), BOOK_MS)
end

local function count_waiting(owner, messages)
  local waiting = redis.call('INCRBY', waiting_key(owner), messages)
  if waiting > 0 then keep_for(waiting_key(owner), BOOK_MS) else redis.call('UNLINK', waiting_key(owner)) end
end

-- Counts what lies under these keys in place of what the send took before.
local function measure_send(send, owner, keys)
  local bytes = ELSEWHERE_BYTES
  for _, key in ipairs(keys) do
    bytes = bytes + (redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) or 0)
  end
  count_bytes(owner, bytes - send.bytes)
  send.bytes = bytes
end

local function note_ended(texts, bytes, dies_at)
  redis.call('ZADD', ended_key(texts.owner), dies_at, texts.message_id .. ' ' .. bytes)
  keep_for(ended_key(texts.owner), BOOK_MS)
end

-- What the sends of one owner take at a device: the bytes of all that are kept, and which of them have ended. Only its
-- record says whose a send is, so the names of the two keys are made here, of the one in KEYS; all are in one slot.
local ELSEWHERE_BYTES = 1000 -- In the queue, in sets of ids, in these books.
local BOOK_MS = 10 * 24 * 3600 * 1000 -- Longer than a send takes to its end and is kept afterwards.

local function ended_key(kept_key, owner) return kept_key .. ':ended:' .. owner end
local function bytes_key(kept_key, owner) return kept_key .. ':bytes:' .. owner end

local function count_bytes(kept_key, owner, bytes)
  redis.call('INCRBY', bytes_key(kept_key, owner), bytes)
  redis.call('PEXPIRE', bytes_key(kept_key, owner), BOOK_MS)
end

-- Counts what a send takes now in place of what it took before. Returns it.
local function measure_send(kept_key, record_key, recipients_key, results_key)
  local owner, before = unpack(redis.call('HMGET', record_key, 'owner', 'bytes'))
  local bytes = ELSEWHERE_BYTES
  for _, key in ipairs({ record_key, recipients_key, results_key }) do
    bytes = bytes + (redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) or 0)
  end
  redis.call('HSET', record_key, 'bytes', bytes)
  count_bytes(kept_key, owner, bytes - tonumber(before or '0'))
  return bytes
end

local function note_ended(kept_key, record_key, bytes, dies_at)
  local owner, id = unpack(redis.call('HMGET', record_key, 'owner', 'messageId'))
  redis.call('ZADD', ended_key(kept_key, owner), dies_at, id .. ' ' .. bytes)
  redis.call('PEXPIRE', ended_key(kept_key, owner), BOOK_MS)
end

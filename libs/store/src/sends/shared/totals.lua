-- How many recipients ever came to each status, and left it: see libs/contracts/src/sends/totals.ts. Counted in the step that changes the
-- status, so that it is right whatever process dies.
--- @constants STATUSES TOTAL_BITS SENT READ
local moves = {}

-- The first and the last status that was skipped: a receipt may come before the ack, and who reads a message has got it.
local function skipped_between(from, to)
  return (from and from >= SENT and from <= READ) and from + 1 or SENT, to <= READ and to - 1 or 0
end

-- `from` is nil for those that are accepted.
local function move_totals(kind, from, to, many)
  local function add(status)
    local place = kind * 2 * STATUSES + status
    moves[place] = (moves[place] or 0) + many
  end
  if from then add(STATUSES + from) end
  local first, last = skipped_between(from, to)
  for between = first, last do
    add(between)
    add(STATUSES + between)
  end
  add(to)
end

local function save_totals()
  local changes = {}
  for place, many in pairs(moves) do
    for _, word in ipairs({ 'INCRBY', 'u' .. TOTAL_BITS, '#' .. place, many }) do
      changes[#changes + 1] = word
    end
  end
  if #changes > 0 then redis.call('BITFIELD', totals_key, 'OVERFLOW', 'SAT', unpack(changes)) end
  moves = {}
end

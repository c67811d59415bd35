-- What became of the recipients of a workspace in each minute: see libs/contracts/src/sends/activity.ts. The place of a status is its
-- code. Counted in the step that changes the status, so that nothing is lost with a process.
--- @constants ACTIVITY_PLACES ACTIVITY_BITS ACTIVITY_MS
local HOUR_MS = 3600 * 1000

-- `counts`: place -> how many.
local function count_activity(counts)
  local first = math.floor(tonumber(now_ms) % HOUR_MS / 60000) * ACTIVITY_PLACES
  local changes = {}
  for place, many in pairs(counts) do
    for _, word in ipairs({ 'INCRBY', 'u' .. ACTIVITY_BITS, '#' .. (first + place), many }) do
      changes[#changes + 1] = word
    end
  end
  if #changes == 0 then return end
  local key = activity_key .. ':' .. math.floor(tonumber(now_ms) / HOUR_MS)
  redis.call('BITFIELD', key, 'OVERFLOW', 'SAT', unpack(changes))
  redis.call('PEXPIRE', key, ACTIVITY_MS, 'NX')
end

-- `errors`: error code -> how many failed of it.
local function count_errors(errors)
  local key = activity_key .. ':errors:' .. math.floor(tonumber(now_ms) / HOUR_MS)
  for code, many in pairs(errors) do
    redis.call('HINCRBY', key, code, many)
    redis.call('PEXPIRE', key, ACTIVITY_MS)
    redis.call('HINCRBY', totals_key .. ':errors', code, many)
  end
end

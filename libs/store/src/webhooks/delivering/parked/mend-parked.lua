-- A process of the version before takes the field of a key for all that there is of it: where it makes room its numbered events are left
-- behind, and what it gave up is never due again. Who takes an endpoint from another finds all of it again.
--- @include parked-key
local function mend_parked()
  local firsts, nexts, keys, count = {}, {}, {}, 0
  for _, field in ipairs(redis.call('HKEYS', parked_key)) do
    local key, number = string.match(field, '^(%S+) (%d+)$')
    number = tonumber(number)
    if number then
      firsts[key] = math.min(firsts[key] or number, number)
      nexts[key] = math.max(nexts[key] or 0, number + 1)
    end
    keys[key or field] = true
  end
  for key in pairs(keys) do
    local text = redis.call('HGET', parked_key, key)
    local parked = parse_parked(text or '{}')
    local first, behind = firsts[key] or parked.first, nexts[key] or parked.next
    if not text or first < parked.first or behind > parked.next then
      parked.first, parked.next = first, behind + #parked.former
      write_parked(key, parked, parked.former, behind)
      parked.former = {}
    end
    redis.call('ZADD', due_key, 'NX', 0, key)
    redis.call('ZADD', since_key, 'NX', redis.call('TIME')[1] * 1000, key)
    count = count + parked.next - parked.first + #parked.former
  end
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', due_key, 'inf', 'inf')) do redis.call('ZADD', due_key, 0, key) end
  redis.call('HSET', webhook_key, 'parkedEvents', count)
end

-- What is put aside for an endpoint: for each key (that of a recipient) its events, in order, and how they were tried again.
-- A key has `most_of_one` events at most, and the endpoint `most_parked`. What does not fit goes from the first of that key on, or from
-- the oldest key on, but nothing that is being posted; at the bound of one key also nothing that its clock is about, which would begin anew.
-- From `first` on there are (what, key, value) ...:
-- 'add': the event `value` comes behind those of this key, which is due at once if it is new. These come first.
-- 'add of many': the same, and the key may have as many as the endpoint.
-- 'drop': the first `value` events of this key go; the next one is due.
-- 'lose': `value` more are lost, or fewer if it is negative. A time in ms: then the key is due; `value` is its clock.
--- @include parked-key
local function change_parked(first)
  local function take(key)
    local text = redis.call('HGET', parked_key, key)
    if not text then return nil end
    local parked = parse_parked(text)
    if #parked.former > 0 then
      local from = parked.next
      parked.next = from + #parked.former
      write_parked(key, parked, parked.former, from)
      -- The version before gave up for ever, with all that comes behind.
      if redis.call('ZSCORE', due_key, key) == 'inf' then redis.call('ZADD', due_key, parks_at_ms, key) end
    end
    return parked
  end

  -- The first events behind so many that stay: these are moved up.
  local function take_out(key, stay, count)
    local parked = take(key)
    if not parked then return 0 end
    local there = parked.next - parked.first
    local gone = math.min(count, there - stay)
    if gone <= 0 then return 0 end
    redis.call('HINCRBY', webhook_key, 'parkedEvents', -gone)
    local staying = {}
    in_parts(parked_fields(key, parked.first, stay), function(...)
      for _, event in ipairs(redis.call('HMGET', parked_key, ...)) do staying[#staying + 1] = event end
    end)
    in_parts(parked_fields(key, parked.first, gone), function(...) redis.call('HDEL', parked_key, ...) end)
    if gone == there then
      redis.call('HDEL', parked_key, key)
      redis.call('ZREM', due_key, key)
      redis.call('ZREM', since_key, key)
      return gone
    end
    parked.first = parked.first + gone
    if stay == 0 then parked.clock = '{}' end
    write_parked(key, parked, staying, parked.first)
    -- What comes first now was never tried: it does not wait for a clock that was not its own.
    if stay == 0 then redis.call('ZADD', due_key, 'XX', 'LT', parks_at_ms, key) end
    return gone
  end

  -- All of a key at once. Answers the keys that have too many.
  local function add_all()
    local keys, events, of_many, added, crowded = {}, {}, {}, 0, {}
    for i = first, #ARGV, 3 do
      if ARGV[i] == 'add' or ARGV[i] == 'add of many' then
        local key = ARGV[i + 1]
        of_many[key] = ARGV[i] == 'add of many'
        if not events[key] then
          keys[#keys + 1] = key
          events[key] = {}
        end
        events[key][#events[key] + 1] = ARGV[i + 2]
        added = added + 1
      end
    end
    if added > 0 then redis.call('HINCRBY', webhook_key, 'parkedEvents', added) end
    for _, key in ipairs(keys) do
      local parked = take(key)
      if not parked then
        parked = { first = 0, next = 0, clock = '{}' }
        redis.call('ZADD', due_key, parks_at_ms, key)
        redis.call('ZADD', since_key, parks_at_ms, key)
      end
      local from = parked.next
      parked.next = from + #events[key]
      write_parked(key, parked, events[key], from)
      if not of_many[key] and parked.next - parked.first > tonumber(most_of_one) then crowded[#crowded + 1] = key end
    end
    return crowded
  end

  -- By key, how many of its first events are in a request: when they are told they are dropped by their number, and until then they come again.
  local function find_posting()
    local posting = {}
    local state = redis.call('HGET', webhook_key, 'lane:parked')
    local claim = state and cjson.decode(state).claim or {}
    for _, each in ipairs(claim.keys or {}) do posting[each[1]] = each[2] end
    return posting
  end

  local function lose(count)
    if count > 0 then redis.call('HINCRBY', webhook_key, 'parkedLost', count) end
    return count
  end

  local crowded = add_all()
  for i = first, #ARGV, 3 do
    local what, key, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if what == 'drop' then
      take_out(key, 0, tonumber(value))
    elseif what == 'lose' then
      redis.call('HINCRBY', webhook_key, 'parkedLost', value)
    elseif what ~= 'add' and what ~= 'add of many' then
      local parked = take(key)
      if parked then
        parked.clock = value
        write_parked(key, parked, {}, 0)
        redis.call('ZADD', due_key, what, key)
      end
    end
  end

  local excess = tonumber(redis.call('HGET', webhook_key, 'parkedEvents') or 0) - tonumber(most_parked)
  if excess <= 0 and #crowded == 0 then return end
  local posting = find_posting()
  for _, key in ipairs(crowded) do
    local parked = take(key)
    local too_many = parked and parked.next - parked.first - tonumber(most_of_one) or 0
    if too_many > 0 then
      excess = excess - lose(take_out(key, math.max(posting[key] or 0, tried_of(parked)), too_many))
    end
  end
  local place = 0
  while excess > 0 do
    local oldest = redis.call('ZRANGE', since_key, place, place)[1]
    if not oldest then return end
    local gone = lose(take_out(oldest, posting[oldest] or 0, excess))
    if gone == 0 or posting[oldest] then place = place + 1 end
    excess = excess - gone
  end
end

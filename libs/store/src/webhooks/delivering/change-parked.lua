-- What is put aside for an endpoint: for each key (that of a recipient) a line that says how it was tried again, and behind it a line
-- for each event, in order. Lua looks into none of them. What does not fit goes from the oldest key on, but nothing that is being posted.
-- From `first` on there are (what, key, value) ...:
-- 'add': the event `value` comes behind those of this key, which is due at once if it is new. These come first.
-- 'drop': the first `value` events of this key go; the next one is due.
-- 'lose': `value` more are lost, or fewer if it is negative. A time in ms: then the key is due; `value` is its first line.
local function change_parked(first)
  -- Where the line ends that is so many behind the one that ends at `at`, or nothing behind the last; and how many there were.
  local function pass(lines, at, count)
    local passed = 0
    while at and passed < count do
      at, passed = string.find(lines, '\n', at + 1, true), passed + 1
    end
    return at, passed
  end

  -- The first events behind so many that stay.
  local function take_out(key, stay, count)
    local lines = redis.call('HGET', parked_key, key)
    local kept = lines and pass(lines, string.find(lines, '\n', 1, true), stay)
    if not kept then return 0 end
    local rest, gone = pass(lines, kept, count)
    redis.call('HINCRBY', webhook_key, 'parkedEvents', -gone)
    if not rest and stay == 0 then
      redis.call('HDEL', parked_key, key)
      redis.call('ZREM', due_key, key)
      redis.call('ZREM', since_key, key)
    else
      local before = stay == 0 and '{}' or string.sub(lines, 1, kept - 1)
      redis.call('HSET', parked_key, key, before .. (rest and string.sub(lines, rest) or ''))
      -- What comes first now was never tried: it does not wait for a clock that was not its own.
      if stay == 0 then redis.call('ZADD', due_key, 'XX', 'LT', parks_at_ms, key) end
    end
    return gone
  end

  -- All of a key at once: its text may be a megabyte, and a request may have 500 events of one person.
  local function add_all()
    local keys, texts, added = {}, {}, 0
    for i = first, #ARGV, 3 do
      if ARGV[i] == 'add' then
        local key = ARGV[i + 1]
        if not texts[key] then
          keys[#keys + 1] = key
          texts[key] = { redis.call('HGET', parked_key, key) or '{}' }
        end
        texts[key][#texts[key] + 1] = ARGV[i + 2]
        added = added + 1
      end
    end
    if added == 0 then return end
    for _, key in ipairs(keys) do
      if redis.call('HSET', parked_key, key, table.concat(texts[key], '\n')) == 1 then
        redis.call('ZADD', due_key, parks_at_ms, key)
        redis.call('ZADD', since_key, parks_at_ms, key)
      end
    end
    redis.call('HINCRBY', webhook_key, 'parkedEvents', added)
  end

  add_all()
  for i = first, #ARGV, 3 do
    local what, key, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if what == 'drop' then
      take_out(key, 0, tonumber(value))
    elseif what == 'lose' then
      redis.call('HINCRBY', webhook_key, 'parkedLost', value)
    elseif what ~= 'add' then
      local lines = redis.call('HGET', parked_key, key)
      if lines then
        redis.call('HSET', parked_key, key, value .. string.sub(lines, (string.find(lines, '\n', 1, true))))
        redis.call('ZADD', due_key, what, key)
      end
    end
  end

  local excess = tonumber(redis.call('HGET', webhook_key, 'parkedEvents') or 0) - tonumber(most_parked)
  if excess <= 0 then return end
  -- Its first events may have been posted already: when they are told they are dropped by their number, and until then they come again.
  local posting = {}
  local state = redis.call('HGET', webhook_key, 'lane:parked')
  local claim = state and cjson.decode(state).claim or {}
  for _, each in ipairs(claim.keys or {}) do posting[each[1]] = each[2] end
  local place = 0
  while excess > 0 do
    local oldest = redis.call('ZRANGE', since_key, place, place)[1]
    if not oldest then return end
    local gone = take_out(oldest, posting[oldest] or 0, excess)
    if gone > 0 then redis.call('HINCRBY', webhook_key, 'parkedLost', gone) end
    if gone == 0 or posting[oldest] then place = place + 1 end
    excess = excess - gone
  end
end

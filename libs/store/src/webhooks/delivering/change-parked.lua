-- What is put aside for an endpoint: for each key (that of a recipient) a line that says how it was tried again, and behind it a line
-- for each event, in order. Lua looks into none of them.
-- From `first` on there are (what, key, value) ...:
-- 'add': the event `value` comes behind those of this key, which is due at once if it is new.
-- 'drop': the first `value` events of this key go; the next one is as due as they were.
-- 'lose': `value` more are lost, or fewer if it is negative. A time in ms: then the key is due; `value` is its first line.
local function change_parked(first)
  local function take_out(key, count)
    local lines = redis.call('HGET', parked_key, key)
    if not lines then return 0 end
    local rest, gone = string.find(lines, '\n', 1, true), 0
    while rest and gone < count do
      rest, gone = string.find(lines, '\n', rest + 1, true), gone + 1
    end
    redis.call('HINCRBY', webhook_key, 'parkedEvents', -gone)
    if rest then
      redis.call('HSET', parked_key, key, '{}' .. string.sub(lines, rest))
    else
      redis.call('HDEL', parked_key, key)
      redis.call('ZREM', due_key, key)
      redis.call('ZREM', since_key, key)
    end
    return gone
  end

  for i = first, #ARGV, 3 do
    local what, key, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if what == 'add' then
      local lines = redis.call('HGET', parked_key, key)
      if not lines then
        redis.call('ZADD', due_key, parks_at_ms, key)
        redis.call('ZADD', since_key, parks_at_ms, key)
      end
      redis.call('HSET', parked_key, key, (lines or '{}') .. '\n' .. value)
      redis.call('HINCRBY', webhook_key, 'parkedEvents', 1)
    elseif what == 'drop' then
      take_out(key, tonumber(value))
    elseif what == 'lose' then
      redis.call('HINCRBY', webhook_key, 'parkedLost', value)
    else
      local lines = redis.call('HGET', parked_key, key)
      if lines then
        redis.call('HSET', parked_key, key, value .. string.sub(lines, (string.find(lines, '\n', 1, true))))
        redis.call('ZADD', due_key, what, key)
      end
    end
  end

  local excess = tonumber(redis.call('HGET', webhook_key, 'parkedEvents') or 0) - tonumber(most_parked)
  while excess > 0 do
    local oldest = redis.call('ZRANGE', since_key, 0, 0)[1]
    local gone = oldest and take_out(oldest, excess) or 0
    if gone == 0 then return end
    redis.call('HINCRBY', webhook_key, 'parkedLost', gone)
    excess = excess - gone
  end
end

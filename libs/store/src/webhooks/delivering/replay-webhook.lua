-- Asks for events to be told once more: `wanted` are ('range', a replay) and ('key', of what is put aside) ...
-- What is put aside is due at once, as if neither it nor others had failed; what is told only as a whole stays that.
-- The same replay again is none more.
-- Output: 'done', 'gone', or 'full' when there are too many replays: then nothing was changed.
--- @include parked-key
if redis.call('EXISTS', webhook_key) == 0 then return 'gone' end
local added = 0
for i = before_wanted + 1, #ARGV, 2 do
  if ARGV[i] == 'range' and not redis.call('LPOS', replays_key, ARGV[i + 1]) then added = added + 1 end
end
if redis.call('LLEN', replays_key) + added > tonumber(most) then return 'full' end
local breaker = redis.call('HGET', webhook_key, 'breaker')
if breaker then
  local others = string.gsub(string.gsub(breaker, '"aside":%b{},', ''), ',?"aside":%b{}', '')
  redis.call('HSET', webhook_key, 'breaker', others)
end
for i = before_wanted + 1, #ARGV, 2 do
  local wanted = ARGV[i + 1]
  local text = ARGV[i] == 'key' and redis.call('HGET', parked_key, wanted)
  if text then
    local parked = parse_parked(text)
    local whole = string.match(parked.clock, '"whole":%b{}') or ''
    parked.clock = '{' .. whole .. '}'
    local from = parked.next
    parked.next = from + #parked.former
    write_parked(wanted, parked, parked.former, from)
    redis.call('ZADD', due_key, now_ms, wanted)
  elseif ARGV[i] == 'range' and not redis.call('LPOS', replays_key, wanted) then
    redis.call('RPUSH', replays_key, wanted)
    -- The version before ends one without looking for this.
    redis.call('HDEL', webhook_key, 'replay:' .. wanted)
  end
end
return 'done'

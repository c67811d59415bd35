-- Asks for events to be told once more: `wanted` are ('range', a replay) and ('key', of what is put aside) ...
-- What is put aside is due at once, as if it had not been refused. The same replay again is none more.
-- Output: 'done', 'gone', or 'full' when there are too many replays: then nothing was changed.
if redis.call('EXISTS', webhook_key) == 0 then return 'gone' end
local added = 0
for i = before_wanted + 1, #ARGV, 2 do
  if ARGV[i] == 'range' and not redis.call('LPOS', replays_key, ARGV[i + 1]) then added = added + 1 end
end
if redis.call('LLEN', replays_key) + added > tonumber(most) then return 'full' end
for i = before_wanted + 1, #ARGV, 2 do
  local wanted = ARGV[i + 1]
  local lines = ARGV[i] == 'key' and redis.call('HGET', parked_key, wanted)
  if lines then
    redis.call('HSET', parked_key, wanted, '{}' .. string.sub(lines, (string.find(lines, '\n', 1, true))))
    redis.call('ZADD', due_key, now_ms, wanted)
  elseif ARGV[i] == 'range' and not redis.call('LPOS', replays_key, wanted) then
    redis.call('RPUSH', replays_key, wanted)
  end
end
return 'done'

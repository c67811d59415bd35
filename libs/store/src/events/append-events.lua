-- Entries of an outbox come into the log of the workspace, if none of them is in it: then its mark has moved. What is older than the
-- log keeps goes, and it is remembered which was the last of it. Who looks for what happened at a time finds what comes long after that by
-- `late:<hour>`, the hour in which it came: when the oldest of it happened, which is `late_since_ms`.
-- Output: 'appended' | 'moved' | 'closed'
if redis.call('EXISTS', log_key) == 0 then return 'closed' end
if (redis.call('HGET', marks_key, field) or none) ~= expected then
  -- It may be sent again, where its reply was lost.
  local is_ours = attempt ~= '' and redis.call('HGET', marks_key, field .. ':by') == attempt
  return is_ours and 'appended' or 'moved'
end
for i = before_entries + 1, #ARGV do redis.call('XADD', log_key, '*', 'e', ARGV[i]) end
-- Last: what a failing command before it has left undone is done again.
redis.call('HSET', marks_key, field, mark)
if attempt ~= '' then redis.call('HSET', marks_key, field .. ':by', attempt) end
local time = redis.call('TIME')
if late_since_ms ~= '' then
  local hour = math.floor(time[1] / 3600)
  local since = redis.call('HGET', marks_key, 'late:' .. hour)
  if not since then
    for _, field in ipairs(redis.call('HKEYS', marks_key)) do
      local former = tonumber(string.match(field, '^late:(%d+)$'))
      if former and (hour - former - 1) * 3600000 > tonumber(kept_ms) then redis.call('HDEL', marks_key, field) end
    end
  end
  if not since or tonumber(late_since_ms) < tonumber(since) then redis.call('HSET', marks_key, 'late:' .. hour, late_since_ms) end
end
-- In full: an id without its number stands for the whole millisecond, of which the trimming keeps all.
local oldest = string.format('%.0f-0', time[1] * 1000 - tonumber(kept_ms))
local gone = redis.call('XREVRANGE', log_key, '(' .. oldest, '-', 'COUNT', 1)[1]
if gone then
  redis.call('XTRIM', log_key, 'MINID', oldest)
  redis.call('HSET', marks_key, 'goneTo', gone[1])
end
if #ARGV > before_entries then
  local prefix, workspace = string.match(log_key, '^(.*):{([^}]*)}:event%-log$')
  redis.call('PUBLISH', prefix .. ':event-bell', workspace .. (can_wait ~= '' and '/lists' or ''))
end
return 'appended'

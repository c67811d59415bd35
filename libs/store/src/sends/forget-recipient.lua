-- Takes the number of a person out of a send. If it is queued for them it is cancelled, or failed where their phone may
-- have it; what was sent to them counts on. When no one else is left the content goes, too.
-- Output: how many entries were taken out.
--- @include settle
--- @include erase
--- @constants RECIPIENT_BYTES QUEUED FAILED CANCELLED PERSON_FORGOTTEN
local TAKEN_OUT = string.rep('\0', RECIPIENT_BYTES)
local wanted = {}
for i = before_numbers + 1, #ARGV do wanted[ARGV[i]] = true end
local packed = redis.call('GET', recipients_key)
if not packed then return 0 end
local found, others = {}, 0
for at = 1, #packed, RECIPIENT_BYTES do
  local number = string.sub(packed, at, at + RECIPIENT_BYTES - 1)
  if wanted[number] then found[#found + 1] = (at - 1) / RECIPIENT_BYTES
  elseif number ~= TAKEN_OUT then others = others + 1 end
end
if #found == 0 then return 0 end
for _, index in ipairs(found) do
  local r = load_result(results_key, index)
  if r and r.status == QUEUED then
    local to = may_be_shown(r) and FAILED or CANCELLED
    r.status, r.at, r.err = to, tonumber(now_ms), to == FAILED and PERSON_FORGOTTEN or 0
    move_counts(record_key, backlog_key, QUEUED, to, 1)
    save_result(results_key, index, r)
  end
  redis.call('SETRANGE', recipients_key, index * RECIPIENT_BYTES, TAKEN_OUT)
end
erase_spent_otp(record_key, erasures_key, now_ms)
if others == 0 then redis.call('HDEL', record_key, 'content', 'reply') end
close_when_settled(record_key, recipients_key, results_key, open_key, released_key, kept_key, now_ms)
return #found

-- Takes the number of a person out of a send. If it is queued for them it is cancelled, or failed where their phone may
-- have it; what was sent to them counts on. If no other recipient is left, the content goes, too.
-- Output: how many entries were taken out.
--- @include settle
--- @constants RECIPIENT_BYTES HEAD_BYTES PLACE_BYTES QUEUED FAILED CANCELLED PERSON_FORGOTTEN
local TAKEN_OUT = string.rep('\0', RECIPIENT_BYTES)
local wanted = {}
for i = before_numbers + 1, #ARGV do wanted[ARGV[i]] = true end
if not send then return 0 end
local all = load_places()
local found, others = {}, 0
for at = 1, #all, PLACE_BYTES do
  local number = string.sub(all, at, at + RECIPIENT_BYTES - 1)
  if wanted[number] then found[#found + 1] = (at - 1) / PLACE_BYTES
  elseif number ~= TAKEN_OUT then others = others + 1 end
end
if #found == 0 then return 0 end
for _, index in ipairs(found) do
  local r = load_result(index)
  if r.status == QUEUED then
    local to = may_be_shown(r) and FAILED or CANCELLED
    r.status, r.at, r.err = to, tonumber(now_ms), to == FAILED and PERSON_FORGOTTEN or 0
    move_counts(QUEUED, to, 1)
    tell_change(index, to, r.err)
    if to == FAILED then note(failed_of, PERSON_FORGOTTEN, 1) end
    save_result(index, r)
  end
  redis.call('SETRANGE', record_key, HEAD_BYTES + index * PLACE_BYTES, TAKEN_OUT)
end
save_send()
if others == 0 then redis.call('UNLINK', content_key) end
return #found

#!lua flags=allow-oom
-- Takes the number of a person out of a send. If it is queued for them it is cancelled, or failed where their phone may
-- have it; what was sent to them counts on. When no one else is left the content goes, too.
-- KEYS record, recipients, results, open, backlog, erasures, released blobs, kept
-- ARGV now ms, retention ms, erasure ms, error code, packed number...
-- Output: how many entries were taken out, or -1 for a send that is being accepted: it is not to be touched yet.
--- @include "results"
--- @include "book"
--- @include "settle"
--- @include "erase"
local RECIPIENT_BYTES = 8
local NOBODY = string.rep('\0', RECIPIENT_BYTES)
local wanted = {}
for i = 5, #ARGV do wanted[ARGV[i]] = true end
local packed = redis.call('GET', KEYS[2])
if not packed then return 0 end
local found, others = {}, 0
for at = 1, #packed, RECIPIENT_BYTES do
  local number = string.sub(packed, at, at + RECIPIENT_BYTES - 1)
  if wanted[number] then found[#found + 1] = (at - 1) / RECIPIENT_BYTES
  elseif number ~= NOBODY then others = others + 1 end
end
if #found == 0 then return 0 end
if redis.call('HGET', KEYS[1], 'state') == 'accepting' then return -1 end
for _, index in ipairs(found) do
  local r = load_result(KEYS[3], index)
  if r and r.status == QUEUED then
    local to = may_be_shown(r) and FAILED or CANCELLED
    r.status, r.at, r.err = to, tonumber(ARGV[1]), to == FAILED and tonumber(ARGV[4]) or 0
    move_counts(KEYS[1], KEYS[5], QUEUED, to, 1)
    save_result(KEYS[3], index, r)
  end
  redis.call('SETRANGE', KEYS[2], index * RECIPIENT_BYTES, NOBODY)
end
erase_spent_otp(KEYS[1], KEYS[6], ARGV[1], ARGV[3])
if others == 0 then redis.call('HDEL', KEYS[1], 'content', 'reply') end
close_when_settled(KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[7], KEYS[8], ARGV[1], ARGV[2])
return #found

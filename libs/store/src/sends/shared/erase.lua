-- The content of an OTP goes as soon as it is not needed any more: at its end, or a while after the ack, as until then the
-- phone may ask for it again. Later news do not put that off. An OTP has one recipient, so its counts tell its status.
--- @constants OTP OTP_ERASURE_MS
local function erase_spent_otp()
  if send.kind ~= OTP or send.queued > 0 then return end
  if send.sent > 0 then
    redis.call('PEXPIREAT', content_key, tonumber(now_ms) + OTP_ERASURE_MS, 'LT')
  else
    redis.call('UNLINK', content_key)
  end
end

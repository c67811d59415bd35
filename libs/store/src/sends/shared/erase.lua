-- The content of an OTP goes as soon as it is not needed any more: at its end, or a while after the ack, as until then the
-- phone may ask for it again. An OTP has one recipient, so the counts of its record tell its status.
--- @constants OTP_ERASURE_MS
--- @constants OTP STATUS_NAMES QUEUED SENT
local function erase_spent_otp(record_key, erasures_key, now_ms)
  local kind, id, queued, sent = unpack(redis.call('HMGET', record_key, 'kind', 'messageId',
    STATUS_NAMES[QUEUED], STATUS_NAMES[SENT]))
  if kind ~= OTP or tonumber(queued) > 0 then return end
  if tonumber(sent) > 0 then
    redis.call('ZADD', erasures_key, 'NX', tonumber(now_ms) + OTP_ERASURE_MS, id)
  else
    redis.call('HDEL', record_key, 'content')
    redis.call('ZREM', erasures_key, id)
  end
end

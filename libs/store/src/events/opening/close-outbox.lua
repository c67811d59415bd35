-- An outbox goes, with what was not read, unless it was opened anew since its stamp was read.
if (redis.call('GET', outbox_stamp_key) or '') ~= stamp then return end
redis.call('UNLINK', outbox_key, outbox_key .. ':missing', outbox_stamp_key)

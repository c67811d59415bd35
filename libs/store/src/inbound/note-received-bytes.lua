-- How much a device keeps of what people wrote, as long as that may be. Of one whose workspace is gone nothing is noted: its short id
-- goes with that.
-- Output: 1, or 0 when nothing was noted
if redis.call('HEXISTS', short_ids_key, short) == 0 then return 0 end
redis.call('HSET', received_bytes_key, device, noted)
redis.call('PEXPIRE', received_bytes_key, kept_ms)
return 1

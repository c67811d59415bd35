-- Remembers where the network keeps a blob. Of a device that is not there nothing is remembered: it went with its workspace.
if redis.call('EXISTS', device_key) == 0 then return 0 end
redis.call('SET', upload_key, sealed, 'PXAT', until_ms)
return 1

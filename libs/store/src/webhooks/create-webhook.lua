-- Writes a new endpoint. What comes into the log from now on is for it: its cursors begin at the end of that, as a clock may be set back.
-- `lanes` are the names of those that have one.
-- `made` is the parking key of its workspace, unless that has one: the version before makes the keys of what is put aside with that.
-- `token_key` is that of the caller, and goes with the workspace.
-- Output: 1, 0 when the workspace has as many as it may, or -1 when it has been deleted. The same endpoint again is none more.
if token_key and redis.call('EXISTS', token_key) == 0 then return -1 end
if redis.call('EXISTS', webhook_key) == 1 then return 1 end
if redis.call('SCARD', webhooks_key) >= tonumber(most) then return 0 end
local seconds, micros = unpack(redis.call('TIME'))
local now_ms = seconds * 1000 + math.floor(micros / 1000)
redis.call('SET', parking_key_key, made, 'NX')
redis.call('SADD', webhooks_key, id)
redis.call('HSET', webhook_key, 'status', 'unverified', 'revision', revision, 'createdAtMs', string.format('%d', now_ms),
  'settings', settings, 'target', target, 'secrets', secrets)
-- Where it was ended meanwhile, all of the one that is made anew is for it.
local last = redis.call('EXISTS', log_key) == 1 and redis.call('XINFO', 'STREAM', log_key)[8] or '0-0'
for i = before_lanes + 1, #ARGV do
  redis.call('HSET', webhook_key, 'lane:' .. ARGV[i], '{"cursor":"' .. last .. '"}')
end
return 1

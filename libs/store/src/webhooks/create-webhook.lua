-- Writes a new endpoint. What happens from now on is for it: its cursors begin at this moment.
-- `token_key` is that of the caller, and goes with the workspace.
-- Output: 1, 0 when the workspace has as many as it may, or -1 when it has been deleted. The same endpoint again is none more.
if token_key and redis.call('EXISTS', token_key) == 0 then return -1 end
if redis.call('EXISTS', webhook_key) == 1 then return 1 end
if redis.call('SCARD', webhooks_key) >= tonumber(most) then return 0 end
local seconds, micros = unpack(redis.call('TIME'))
local now_ms = seconds * 1000 + math.floor(micros / 1000)
redis.call('SADD', webhooks_key, id)
redis.call('HSET', webhook_key, 'status', 'unverified', 'revision', revision, 'createdAtMs', string.format('%d', now_ms),
  'settings', settings, 'target', target, 'secrets', secrets)
return 1

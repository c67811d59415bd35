-- Takes a device out of its shard, with what its operator set, if no account is linked to it and nothing waits to go out with it.
-- What names its messages stays: they are found for as long as any, and a later device of that name gives out none of their ids again.
-- Output: 'removed' | 'linked' | 'sending'
--- @constants WANT_UNLINKED
local want = redis.call('HGET', desired_key, 'want')
if redis.call('EXISTS', creds_key) == 1 or (want and want ~= WANT_UNLINKED) then return 'linked' end
if redis.call('ZCARD', open_sends_key) > 0 then return 'sending' end
redis.call('SREM', devices_key, name)
redis.call('HDEL', device_key, 'createdAtMs', 'displayName', 'pace')
redis.call('DEL', desired_key, observed_key, history_key)
return 'removed'

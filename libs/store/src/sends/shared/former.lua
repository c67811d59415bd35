-- Whether a send was accepted for an account that was linked before the one of now: none of it goes out any more, for it would
-- come from someone else. A device that was made before epochs were random has none with its first account.
local function is_of_former_account()
  return send.account_epoch ~= tonumber(redis.call('HGET', device_key, 'accountEpoch') or 0)
end

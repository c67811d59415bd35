-- Puts a value that is sealed with another key in the place of the same one, unless that was written again or is gone. It
-- needs no owner: what the value says is not changed, and an owner that writes at the same time wins.
-- Output: 1, or 0 when the value is another by now
if field == '' then
  if redis.call('GET', value_key) ~= before then return 0 end
  redis.call('SET', value_key, after, 'KEEPTTL')
else
  if redis.call('HGET', value_key, field) ~= before then return 0 end
  redis.call('HSET', value_key, field, after)
end
return 1

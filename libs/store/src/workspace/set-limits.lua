-- Sets limits of a workspace; an empty value takes one away. `fields` are name, value ...
-- Output: 1, or 0 when the token has gone, with the workspace that was meant.
if token_key and redis.call('EXISTS', token_key) == 0 then return 0 end
for i = before_fields + 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', limits_key, ARGV[i]) else redis.call('HSET', limits_key, ARGV[i], ARGV[i + 1]) end
end
return 1

-- Changes fields of an endpoint, if it still has the revision that was read.
-- `fields` are (name, value) ...; those without a value are removed.
-- Output: 'done', 'gone', or 'changed' by another meanwhile.
local revision = redis.call('HGET', webhook_key, 'revision')
if not revision then return 'gone' end
-- The same change again, as its reply was lost.
if revision == revision_after then return 'done' end
if revision ~= revision_before then return 'changed' end
for i = before_fields + 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', webhook_key, ARGV[i])
  else redis.call('HSET', webhook_key, ARGV[i], ARGV[i + 1]) end
end
redis.call('HSET', webhook_key, 'revision', revision_after)
return 'done'

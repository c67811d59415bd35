-- A send that another version of the gateway has written is left as it is. In front of each step that reads one.
--- @constants RECORD_VERSION
do
  local version = redis.call('HGET', record_key, 'v')
  if version and tonumber(version) ~= RECORD_VERSION then return redis.error_reply('UNKNOWN_VERSION ' .. version) end
end

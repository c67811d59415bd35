for _, session in ipairs(KEYS) do redis.call('DEL', session) end

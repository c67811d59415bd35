-- What is written to with each send, and goes a while after the last of them. Its end is put off once an hour: to write it down each time
-- costs as much as a count.
local PUT_OFF_MS = 3600 * 1000

local function keep_for(key, ms)
  if redis.call('PTTL', key) < ms - PUT_OFF_MS then redis.call('PEXPIRE', key, ms) end
end

#!lua flags=allow-oom
-- The owner of a device takes all questions that wait.
-- KEYS lease, questions   ARGV token
-- Output: a flat list of id, question, ... | 'fenced'
--- @include "check-lease"
if not holds_lease(KEYS[1], ARGV[1]) then return 'fenced' end
local questions = redis.call('HGETALL', KEYS[2])
redis.call('DEL', KEYS[2])
return questions

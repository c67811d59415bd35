-- Output: all questions that wait for the owner of a device, a flat list of id, question, ... They wait until it says of each that it
-- is `taken` (answer-question.lua): the reply may not come.
return redis.call('HGETALL', questions_key)

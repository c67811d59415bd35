-- The owner of a device takes all questions that wait.
-- Output: a flat list of id, question, ...
local questions = redis.call('HGETALL', questions_key)
redis.call('DEL', questions_key)
return questions

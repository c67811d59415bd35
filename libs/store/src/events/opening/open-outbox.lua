-- Makes an empty outbox, where there is none. One that is made or opened anew gets another stamp: who has decided before that to end the
-- events of the workspace leaves it alone.
if redis.call('EXISTS', outbox_key) == 0 then
  redis.call('XDEL', outbox_key, redis.call('XADD', outbox_key, '*', 'e', ''))
  is_opened_anew = '1'
end
if is_opened_anew ~= '' then redis.call('SET', outbox_stamp_key, stamp) end

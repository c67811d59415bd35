import { defineScript, flag, number, text } from '../../core/scripts/define-script.js';
import { isOne, nothing } from '../../core/scripts/replies.js';

export const wantStep = defineScript({
  name: 'want-events',
  whenFull: 'runs',
  keys: ['marks', 'token?'],
  args: { nowMs: number },
  reply: (reply) => reply as 1 | 0 | -1,
});

export const openLogStep = defineScript({
  name: 'open-log',
  whenFull: 'runs',
  keys: ['log', 'marks', 'webhooks'],
  args: {},
  reply: isOne,
});

export const openOutboxStep = defineScript({
  name: 'open-outbox',
  whenFull: 'runs',
  keys: ['outbox', 'outboxStamp'],
  args: { stamp: text, isOpenedAnew: flag },
  reply: nothing,
});

export const finishStep = defineScript({
  name: 'finish-opening',
  whenFull: 'runs',
  keys: ['marks', 'webhooks'],
  args: {},
  reply: isOne,
});

import { defineScript, flag, number, text } from '../../core/scripts/define-script.js';
import { isOne, oneOf } from '../../core/scripts/replies.js';

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
  reply: oneOf('unwanted', 'opening', 'open'),
});

export const openOutboxStep = defineScript({
  name: 'open-outbox',
  whenFull: 'runs',
  keys: ['outbox', 'outboxStamp'],
  args: { stamp: text, isOpenedAnew: flag, wasThere: flag, nowMs: number },
  reply: isOne,
});

export const finishStep = defineScript({
  name: 'finish-opening',
  whenFull: 'runs',
  keys: ['marks', 'webhooks'],
  args: {},
  reply: isOne,
});

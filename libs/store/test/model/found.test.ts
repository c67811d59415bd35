import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { type ModelEvent, TTL_STEP_MS } from './events.js';
import { runSequence } from './run-sequence.js';

/** Sequences in which the store once was not what the model says. */
const FOUND: Record<string, readonly ModelEvent[]> = {
  'a key that stands for a later send is not called spent when the send of a failed request is forgotten for room': [
    { do: 'accept', room: 'plenty', kind: 'text', parts: 1, people: [0], expiresInMs: 60_000, key: 1 },
    { do: 'open', send: 0 },
    { do: 'freeKey', key: 1, send: 0 },
    { do: 'cancel', send: 0 },
    { do: 'accept', room: 'none', kind: 'text', parts: 1, people: [0], expiresInMs: 60_000, key: 1 },
  ],
  'what was written down for one account ends when it is opened under another': [
    { do: 'acquire', ttlMs: TTL_STEP_MS },
    { do: 'takeAccount', ownership: 0, account: 1 },
    { do: 'accept', room: 'plenty', kind: 'text', parts: 2, people: [0, 1], expiresInMs: 60_000 },
    { do: 'takeAccount', ownership: 0, account: 2 },
    { do: 'open', send: 0 },
  ],
};

describe('what the model test has found', () => {
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
  });
  after(() => space.close());

  for (const [index, [rule, events]] of Object.entries(FOUND).entries()) {
    it(rule, () => runSequence(space.store, { workspace: `w${index}`, device: 'phone' }, events));
  }
});

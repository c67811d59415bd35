import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import type { ModelEvent } from './events.js';
import { runSequence } from './run-sequence.js';

/** Sequences in which the store once was not what the model says. */
const FOUND: Record<string, readonly ModelEvent[]> = {
  'a key that stands for a later send is not called spent when the send of a failed request is forgotten for room': [
    { do: 'accept', room: 'plenty', kind: 'text', parts: 1, people: [0], expiresInMs: 60_000, key: 1 },
    { do: 'freeKey', key: 1, send: 0 },
    { do: 'cancel', send: 0 },
    { do: 'accept', room: 'none', kind: 'text', parts: 1, people: [0], expiresInMs: 60_000, key: 1 },
  ],
  'a request under a key whose send failed and was forgotten for room gets an id of its own': [
    { do: 'accept', room: 'plenty', kind: 'otp', parts: 1, people: [0], expiresInMs: 60_000, key: 1 },
    { do: 'freeKey', key: 1, send: 0 },
    { do: 'cancel', send: 0 },
    { do: 'accept', room: 'none', kind: 'text', parts: 1, people: [0], expiresInMs: 60_000 },
    { do: 'accept', room: 'plenty', kind: 'text', parts: 1, people: [0], expiresInMs: 60_000, key: 1 },
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

import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { dropAbandonedSends } from '@gateway/store/accept-send';
import { expect } from 'chai';
import { useTestApi } from './support/use-test-api.js';

const DEFAULT = { workspace: 'main', device: 'default' };
const HOUR_MS = 3_600_000;

describe('a send whose record is dropped before it is opened', () => {
  const { api, space } = useTestApi({ linked: true });

  for (const [path, json] of [
    ['/send', { to: '447700900123', text: 'Hello' }],
    ['/otp', { phone: '447700900123', code: '482913' }],
  ] as const) {
    it(`is not promised to the caller of ${path}`, async () => {
      const { store } = api;
      const { run } = store;
      const dropped: string[] = [];
      // The request was frozen between its job and the promise, for so long that the owner gave the record up.
      store.run = async (name, keys, args) => {
        if (name === 'open-send') {
          dropped.push(
            ...(await store.redis.zrangebyscore(deviceKeys(store.space, DEFAULT).acceptingSends, '-inf', '+inf')),
          );
          await dropAbandonedSends({ ...store, run }, DEFAULT, {
            nowMs: Date.now() + HOUR_MS,
            hasJob: async () => false,
          });
        }
        return run(name, keys, args);
      };
      const { status, body } = await api.call('POST', path, { json });
      store.run = run;
      expect([status, body.success], JSON.stringify(body)).to.deep.equal([503, false]);
      expect(body).not.to.have.property('messageId');
      expect(dropped.map((messageId) => parseMessageId(messageId) !== undefined)).to.deep.equal([true]);
      expect(await space.clients.commands.zcard(deviceKeys(store.space, DEFAULT).openSends)).to.equal(0);
    });
  }
});

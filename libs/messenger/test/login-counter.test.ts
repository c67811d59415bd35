import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { proto } from '@gateway/messenger/socket/baileys';
import { expect } from 'chai';
import { useSessions } from './support/session-fixture.js';

describe('the login counter', () => {
  const sessions = useSessions();

  /** What clients said at their logins, as the network reads it. */
  const payloads: proto.ClientPayload[] = [];
  const { decode } = proto.ClientPayload;
  before(() => {
    proto.ClientPayload.decode = (bytes, length) => {
      const payload = decode(bytes, length);
      payloads.push(payload);
      return payload;
    };
  });
  after(() => {
    proto.ClientPayload.decode = decode;
  });

  it('goes up with each login that succeeded, over restarts', async () => {
    const { keyStore, phone } = await sessions.link();
    const saysCount = payloads.some((payload) => Object.hasOwn(payload, 'lc'));
    expect(saysCount, 'linking is no login').to.equal(false);
    for (const expected of [0, 1, 2]) {
      const test = await sessions.open(keyStore, { caches: createSessionCaches() });
      await test.next('open');
      const { username, lc } = payloads.at(-1)!;
      expect([String(username), lc]).to.deep.equal([phone, expected]);
      await test.session.close();
    }
    expect(JSON.parse(keyStore.creds!).loginCounter).to.equal(3);
  });
});

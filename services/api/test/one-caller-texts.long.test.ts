import { ensureDevice } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { takeDevice } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { useAttackedApi } from './support/attacks/attacked-api.js';

const ADDRESS = { workspace: 'main', device: 'of-texts' };
/** As much as a device keeps, in the longest texts that there are, of three bytes a character. */
const MESSAGES = 160;
const TEXT = '日'.repeat(65_536);
const AT_ONCE = 40;

describe('what one caller can do to the others with the longest texts that one phone writes', () => {
  const api = useAttackedApi();
  before(async () => {
    const { store } = api.space;
    await openEvents(store, ADDRESS.workspace);
    await ensureDevice(store, ADDRESS);
    const ownership = (await takeDevice(store, ADDRESS, { owner: 'a', ttlMs: 600_000 }))!;
    for (let n = 0; n < MESSAGES; n++) {
      const message = { platformId: `M${n}`, jid: '491511234561@s.whatsapp.net', phone: '491511234561', text: TEXT };
      await recordReceived(store, ownership, { message, nowMs: Date.now() });
    }
    for (const outbox of await findFullOutboxes(store, ADDRESS.workspace)) await relayOutbox(store, outbox);
  });

  /** Asks for all at once on connections that are read slowly; ends when each has had as many bytes. */
  async function readSlowly(path: string, { connections, bytes }: { connections: number; bytes: number }) {
    const scopes: 'events'[] = ['events'];
    const { value: token } = await createApiToken(api.space.store, 'main', { name: 'test', scopes });
    const sockets = await Promise.all(Array.from({ length: connections }, () => api.open()));
    const had = sockets.map(() => 0);
    for (const [i, socket] of sockets.entries()) {
      socket.write(`GET /api/messenger/v1/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      socket.on('data', (piece: Buffer) => {
        had[i]! += piece.length;
        socket.pause();
        setTimeout(() => socket.resume(), 250);
      });
    }
    await eventually(() => had.every((each) => each >= bytes));
    for (const socket of sockets) socket.destroy();
  }

  it('asking for them on forty connections that are read slowly: nothing', async () => {
    const cursor = await skipForgotten();
    await api.expectNoHarm(() =>
      readSlowly(`events?after=${cursor}&limit=1000`, { connections: AT_ONCE, bytes: TEXT.length * 3 }),
    );
    expect(api.process.isRunning).to.equal(true);
  });

  it('following them on five streams that are read slowly: nothing', async () => {
    const cursor = await skipForgotten();
    await api.expectNoHarm(() =>
      readSlowly(`events/stream?after=${cursor}`, { connections: 5, bytes: TEXT.length * 9 }),
    );
  });

  /** Behind those whose texts are not kept any more, for room. */
  async function skipForgotten(): Promise<string> {
    const { value: token } = await createApiToken(api.space.store, 'main', { name: 'test', scopes: ['events'] });
    const response = await fetch(`${api.origin}/events?after=0`, { headers: { authorization: `Bearer ${token}` } });
    return ((await response.json()) as { nextCursor: string }).nextCursor;
  }
});

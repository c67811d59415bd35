import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useAttackedApi } from './support/attacks/attacked-api.js';
import { fillLog } from './support/attacks/fill-log.js';

/** A third of what a minute has. */
const AT_ONCE = 40;

describe('what one caller can do to the others with events of the longest lists', () => {
  const api = useAttackedApi();
  before(() => fillLog(api.space.store, { workspace: 'main', device: 'of-lists' }, 6));

  async function newToken(): Promise<string> {
    return (await createApiToken(api.space.store, 'main', { name: 'test', scopes: ['events'] })).value;
  }
  /** Bytes of its answer. */
  async function ask(token: string, query: string): Promise<number> {
    const response = await fetch(`${api.origin}/events?after=0&${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status).to.be.oneOf([200, 503]);
    return (await response.arrayBuffer()).byteLength;
  }

  for (const [what, query] of Object.entries({
    'one of them at a time': 'limit=1',
    'each alone, a thousand at a time': 'limit=1000&types=message.cancelled,message.delivered',
    'those of a kind that is not there': 'types=message.read',
  })) {
    it(`asking for ${what}: nothing`, async () => {
      await api.expectNoHarm(async () => {
        const token = await newToken();
        await Promise.all(Array.from({ length: AT_ONCE }, () => ask(token, query)));
      });
    });
  }

  it('following them on five streams that are read slowly: nothing', async () => {
    const token = await newToken();
    const head = `Host: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    await api.expectNoHarm(async () => {
      const sockets = await Promise.all(Array.from({ length: 5 }, () => api.open()));
      let bytes = 0;
      for (const socket of sockets) {
        socket.write(
          `GET /api/messenger/v1/events/stream?after=0&types=message.delivered,messages.updated HTTP/1.1\r\n${head}`,
        );
        socket.on('data', (piece) => {
          bytes += piece.length;
          socket.pause();
          setTimeout(() => socket.resume(), 100);
        });
      }
      await eventually(() => bytes > 2_000_000);
      for (const socket of sockets) socket.destroy();
    });
  });
});

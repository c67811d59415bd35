import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Audience } from '@gateway/testkit/chaos/events/audience';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

describe('those who read the events of a chaos run', () => {
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
  });
  after(() => space.close());

  /** @param begins what an API answers to who asks where events begin, in turn. */
  async function gatherAt(begins: [number, object][], look: (asked: string[]) => Promise<unknown>): Promise<void> {
    const asked: string[] = [];
    const api = createServer((request, response) => {
      asked.push(request.url!);
      const [status, body] = (request.url === '/events' && begins.shift()) || [500, {}];
      response.writeHead(status, { 'retry-after': '0', connection: 'close' }).end(JSON.stringify(body));
    }).listen(0, '127.0.0.1');
    await once(api, 'listening');
    const bases = [`http://127.0.0.1:${(api.address() as AddressInfo).port}`];
    let audience: Audience | undefined;
    try {
      audience = await Audience.gather(space.store, { bases, seed: 1, kinds: [] });
      await look(asked);
    } finally {
      await audience?.close();
      api.close();
      api.closeAllConnections();
    }
  }

  it('begin where the API says that events begin, also where it says so at the third time', () =>
    gatherAt(
      [
        [503, { error: 'Not confirmed, and may still happen' }],
        [429, { error: 'Too many requests' }],
        [200, { events: [], nextCursor: 'begin' }],
      ],
      (asked) => eventually(() => asked.includes('/events?after=begin&limit=100&wait=2')),
    ));

  it('are not gathered where it refuses to say so', async () => {
    const gathering = gatherAt([[403, { error: 'Forbidden' }]], async () => {});
    const thrown = await gathering.catch((error: unknown) => error);
    expect(thrown).to.have.property('message').that.includes('403');
  });
});

import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { openEvents } from '@gateway/store/events/open-events';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { setApiTokenScopes } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const AT_ONCE = 5;

describe('those who wait for events', () => {
  const { space, api } = useTestApi();
  let token: string;
  beforeEach(async () => {
    await openEvents(space.store, 'main');
    token = (await api.newToken({ scopes: ['events'] })).value;
  });
  const waits = async (count: number) =>
    eventually(async () => (await api.metrics()).split('\n').includes(`gateway_event_waits ${count}`));
  const placeOf = async (by: string) => (await api.call('GET', '/events', { token: by })).body.nextCursor;

  for (const [kind, ends, status] of [
    ['expires', undefined, 401],
    ['loses its scope', (id: string) => setApiTokenScopes(space.store, 'main', id, ['read']), 403],
  ] as const)
    it(`hear nothing once their token ${kind}, also where the bell of an event was lost`, async () => {
      await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: 1_000 });
      const { eventLog } = workspaceKeys(space.store.space, 'main');
      const [entry] = await space.store.redis.xrangeBuffer(eventLog, '-', '+');
      const expiresAtMs = Date.now() + 1_500;
      const { value: by } = await api.newToken({ scopes: ['events'], ...(!ends && { expiresAtMs }) });
      const waiting = api.call('GET', `/events?wait=4&after=${await placeOf(by)}`, { token: by });
      await waits(1);
      await ends?.(by.split('_')[1]!);
      await eventually(() => Date.now() > expiresAtMs, { everyMs: 50 });
      await space.store.redis.xadd(eventLog, '*', ...entry![1]);
      expect((await waiting).status).to.equal(status);
    });

  it('have a clean end when the api stops, all calls and streams of a token', async () => {
    const after = await placeOf(token);
    const calls = Array.from({ length: AT_ONCE }, () => api.call('GET', `/events?wait=25&after=${after}`, { token }));
    await waits(AT_ONCE);
    const headers = { authorization: `Bearer ${(await api.newToken({ scopes: ['events'] })).value}` };
    const open = () => fetch(`${api.origin}${BASE}/events/stream`, { headers });
    const streams = await Promise.all(Array.from({ length: AT_ONCE }, open));
    const ends = streams.map(async (stream) => (await stream.text()).startsWith('retry: '));
    api.stop();
    expect(await Promise.all(ends)).to.deep.equal(Array(AT_ONCE).fill(true));
    const answers = await Promise.all(calls);
    expect(answers.map(({ status, body }) => [status, body.nextCursor])).to.deep.equal(
      Array(AT_ONCE).fill([200, after]),
    );
  });
});

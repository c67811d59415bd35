import { systemClock } from '@gateway/runtime/clock';
import { Standing } from '@gateway/store/core/confirming/standing';
import { openEvents } from '@gateway/store/events/open-events';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { revokeApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

describe('requests to a process whose master may have been replaced', () => {
  let stands: boolean;
  let questions: number;
  const standing = new Standing({
    masterStands: async () => {
      questions++;
      return stands;
    },
    ...{ clock: systemClock, logger: silentLogger, freshMs: 100, meanwhile: 'requests are refused' },
  });
  const { space, api } = useTestApi({ standing });
  const statusOf = async (token?: string) => (await api.call('GET', '/devices', token ? { token } : {})).status;
  const untilItIs = (status: number) => eventually(async () => (await statusOf()) === status, { timeoutMs: 3_000 });
  beforeEach(async () => {
    [stands, questions] = [true, 0];
    await untilItIs(200);
  });

  it('are refused with a 503, also with a token that was known before, and answered when it stands again', async () => {
    expect(await statusOf()).to.equal(200);
    stands = false;
    await untilItIs(503);
    const { status, body, headers } = await api.call('GET', '/devices');
    expect(status).to.equal(503);
    expect(body).to.deep.equal({ success: false, error: 'Service unavailable' });
    expect(Number(headers.get('retry-after'))).to.be.above(0);
    stands = true;
    await untilItIs(200);
  });

  it('are told nothing of a token that only this master does not know, or holds to be good', async () => {
    const [unknown, revoked] = [await api.newToken(), await api.newToken()];
    await space.store.redis.del(`${space.prefix}:{main}:token:${unknown.token.keyId}`);
    await revokeApiToken(space.store, 'main', revoked.token.keyId);
    stands = false;
    await untilItIs(503);
    for (const { value } of [unknown, revoked]) expect(await statusOf(value)).to.equal(503);
    expect((await api.call('GET', '/devices', { token: 'x' })).status, 'which asks nothing').to.equal(401);
  });

  it('hear no more events of streams that were open before', async () => {
    await openEvents(space.store, 'main');
    const { value } = await api.newToken({ scopes: ['events'] });
    const headers = { authorization: `Bearer ${value}` };
    const { body } = await fetch(`${api.origin}${BASE}/events/stream`, { headers });
    let heard = '';
    const over = (async () => {
      for await (const piece of body!.pipeThrough(new TextDecoderStream())) heard += piece;
    })().catch(() => {});
    const tell = (number: string) => addOptOuts(space.store, 'main', { numbers: [number], source: 'api', atMs: 1_000 });
    await tell('447700900001');
    await eventually(() => heard.includes('447700900001'));
    stands = false;
    await untilItIs(503);
    await tell('447700900002');
    await over;
    expect(heard).not.to.include('447700900002');
  });

  it('share the question whether it stands, however many they are', async () => {
    await eventually(async () => (await statusOf()) === 200 && questions > 0);
    const [before, fromMs] = [questions, performance.now()];
    await Promise.all(Array.from({ length: 50 }, () => statusOf()));
    // Anew when half of the time is over for which an answer counts.
    expect(questions - before).to.be.at.most(2 + (performance.now() - fromMs) / 50);
  });
});

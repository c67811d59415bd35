import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { runCli } from './support/run-cli.js';

describe('`top` of the command line', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  it('shows the device first that is later than was promised, then those with more to send', async () => {
    const nowMs = Date.now();
    const accept = async (device: string, recipients: number, finishAtMs: number) => {
      await ensureDevice(space.store, { workspace: 'main', device });
      await acceptSend(
        space.store,
        { workspace: 'main', device },
        {
          ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, owner: 't', requestId: 'r' },
          recipients: Array.from({ length: recipients }, (_, i) => String(4915112345600 + i)),
          ...{ nowMs, expiresAtMs: nowMs + 3_600_000, finishAtMs },
        },
      );
    };
    await accept('long', 30, nowMs + 600_000);
    await accept('short', 2, nowMs + 600_000);
    await accept('late', 1, nowMs - 90_000);
    const shown = (await runCli(space, ['top'])).stdout.split('\n').map((line) => line.split(/ +/));
    expect(shown.slice(1, 4).map(([device, , , messages, sends]) => [device, messages, sends])).to.deep.equal([
      ['late', '1', '1'],
      ['long', '30', '1'],
      ['short', '2', '1'],
    ]);
    expect(shown[1]!.slice(1, 3)).to.deep.equal(['disconnected', 'never_linked']);
    expect(Number(shown[1]![5])).to.be.within(90, 120);
  });
});

import { LOG_START } from '@gateway/contracts/events/cursor';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { forgetInLog } from '@gateway/store/events/forgetting/forget-in-log';
import { openEvents } from '@gateway/store/events/open-events';
import { type LogPart, readLog } from '@gateway/store/events/read-log';
import { addOptOuts, removeOptOut } from '@gateway/store/workspace/opt-outs';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const [ANN, BEN, EVE, HIDDEN] = ['4915112345600', '4915112345601', '4915112345602', '123456789012345'] as const;

describe('people who are forgotten, in the log of events', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await openEvents(space.store, 'main');
  });
  afterEach(() => space.close());

  it('are in no entry any more, and where others were in it too there is a gap', async () => {
    const add = (numbers: string[]) => addOptOuts(space.store, 'main', { numbers, source: 'api', atMs: 1_000 });
    await add([ANN, BEN, EVE]);
    await add([`${HIDDEN}@lid`]);
    await removeOptOut(space.store, 'main', BEN);
    await removeOptOut(space.store, 'main', ANN);
    expect(await forgetInLog(space.store, 'main', new Set([ANN, HIDDEN]))).to.equal(3);
    expect(await forgetInLog(space.store, 'main', new Set([ANN, HIDDEN])), 'again').to.equal(0);
    const { entries } = (await readLog(space.store, 'main', LOG_START, { limit: 10 })) as LogPart;
    expect(entries.flatMap(({ parts }) => parts)).to.deep.equal([
      { kind: 'optOuts', isAdded: false, source: 'api', phones: [BEN] },
      { kind: 'gap', missing: 1 },
    ]);
    const bytes = await space.store.redis.xrange(workspaceKeys(space.store.space, 'main').eventLog, '-', '+');
    expect(JSON.stringify(bytes)).not.to.match(new RegExp(`${ANN}|${HIDDEN}`));
  });
});

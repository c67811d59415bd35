import { LOG_START, type LogPlace } from '@gateway/contracts/events/cursor';
import type { GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { forgetInLog } from '@gateway/store/events/forgetting/forget-in-log';
import { openEvents } from '@gateway/store/events/open-events';
import { endOfLog, type LogPart, readLog } from '@gateway/store/events/read-log';
import { findEvent } from '@gateway/store/events/reading/find-event';
import type { EventFilter } from '@gateway/store/events/render-events';
import { addOptOuts, removeOptOut } from '@gateway/store/workspace/opt-outs';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { renderEvents } from '../support/render-events.js';

const [ANN, BEN, EVE, HIDDEN] = ['4915112345600', '4915112345601', '4915112345602', '123456789012345'] as const;

describe('people who are forgotten, in the log of events', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await openEvents(space.store, 'main');
  });
  afterEach(() => space.close());

  const add = (numbers: string[]) => addOptOuts(space.store, 'main', { numbers, source: 'api', atMs: 1_000 });
  const forget = (...names: string[]) => forgetInLog(space.store, 'main', new Set(names));
  /** All that is told behind a place, page by page. */
  async function told(from: LogPlace = LOG_START, filter: EventFilter = {}, limit = 200) {
    const events: GatewayEvent[] = [];
    for (let after = from; ; ) {
      const found = (await readLog(space.store, 'main', after, { limit })) as LogPart;
      events.push(...(await renderEvents(space.store, 'main', found.entries, filter)).map(({ event }) => event));
      if (found.entries.length === 0) return events;
      after = { entry: found.entries.at(-1)!.id, offset: 0 };
    }
  }
  const namesIn = (events: GatewayEvent[]) => events.map(({ type, data }) => data.phones ?? [type, data.missing]);

  it('are in no entry any more, and where others were in it too there is a gap', async () => {
    await add([ANN, BEN, EVE]);
    await add([`${HIDDEN}@lid`]);
    await removeOptOut(space.store, 'main', BEN);
    await removeOptOut(space.store, 'main', ANN);
    expect(await forget(ANN, HIDDEN)).to.equal(3);
    expect(await forget(ANN, HIDDEN), 'again').to.equal(0);
    expect((await told()).map(({ type, data }) => [type, data.phones])).to.deep.equal([
      ['events.gap', undefined],
      ['optout.removed', [BEN]],
    ]);
    const bytes = await space.store.redis.xrange(workspaceKeys(space.store.space, 'main').eventLog, '-', '+');
    expect(JSON.stringify(bytes)).not.to.match(new RegExp(`${ANN}|${HIDDEN}`));
  });

  it('leave a gap in the place of what others were in, for those who ask for it and had not read it', async () => {
    await add([ANN, BEN]);
    const read = await endOfLog(space.store, 'main');
    await add([EVE]);
    await add([HIDDEN, '4915112345603']);
    await add(['4915112345604']);
    for (const name of [ANN, HIDDEN]) expect(await forget(name)).to.equal(1);
    const gap = ['events.gap', 1];
    const left = [gap, [EVE], gap, ['4915112345604']];
    for (const limit of [1, 2, 200]) expect(namesIn(await told(LOG_START, {}, limit)), `${limit}`).to.deep.equal(left);
    expect(namesIn(await told(read)), 'who had read the first').to.deep.equal(left.slice(1));
    expect(await told(await endOfLog(space.store, 'main')), 'who had read all').to.deep.equal([]);
    for (const filter of [{ types: ['optout.removed', 'message.received'] }, { devices: ['a'] }]) {
      expect(await told(LOG_START, filter), JSON.stringify(filter)).to.deep.equal([]);
    }
    const [first] = await told();
    expect(await findEvent(space.store, 'main', first!.id)).to.deep.equal(first);
  });

  it('leave nothing in a log that does not go back to them, nor a note for longer than it may', async () => {
    const { eventMarks } = workspaceKeys(space.store.space, 'main');
    await add([ANN, BEN]);
    await space.store.redis.hset(eventMarks, 'erased', '1-0/added');
    expect(await forget(ANN)).to.equal(1);
    expect(await space.store.redis.hget(eventMarks, 'erased')).to.match(/^\d{13}-0\/added$/);
    const gone = await endOfLog(space.store, 'main');
    await add([EVE]);
    await space.store.redis.hset(eventMarks, 'goneTo', gone.entry);
    expect(namesIn(await told())).to.deep.equal([[EVE]]);
  });
});

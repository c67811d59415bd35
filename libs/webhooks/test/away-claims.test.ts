import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { recordResults } from '@gateway/store/sends/change-send';
import { changeWebhook, deleteWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { useAwayDevices } from '../../store/test/support/use-away-devices.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${40_000 + i}`);
const LISTS = { types: ['messages.updated'] };
const SENT = { types: ['message.sent', 'optout.added'] };

const rowsIn = ({ data }: GatewayEvent) => (data.changes ?? [data]) as ChangeData[];
const said = ({ device, type, data: { index = '' } }: GatewayEvent) =>
  `${device} ${type.split('.')[1]} ${index}`.trim();

describe('what a webhook has failed to take, while a node of Redis is away', () => {
  const { space, stage, create, accept, record, useDevice, relay, rows } = useLoggedEndpoint();
  const away = useAwayDevices(space);
  const told = () => stage.events.map(said);
  let b: Awaited<ReturnType<typeof useDevice>>;
  let c: typeof b;
  beforeEach(async () => {
    b = await useDevice('b');
    c = await useDevice('c');
  });

  /** Of the endpoint, and as if time had passed. */
  async function tell(run: () => Promise<string>, times = 1) {
    for (let i = 0; i < times; i++) {
      stage.aheadMs += 61_000;
      await run();
    }
  }

  /** A process that ends before it has written down what came of a request. */
  async function die(run: () => Promise<string>) {
    const step = space.store.run;
    space.store.run = async (name, ...rest) => {
      if (name === 'settle-delivery') throw new Error('died');
      return step(name, ...rest);
    };
    await run().catch((thrown: Error) => {
      if (thrown.message !== 'died') throw thrown;
    });
    space.store.run = step;
  }

  it('is told later with what is of no device, where that came with it', async () => {
    const run = await create({ ...SENT, concurrency: 5 });
    const ofB = await b.accept(PEOPLE.slice(0, 1));
    const optOut = (number: string) =>
      addOptOuts(space.store, 'main', { numbers: [number], source: 'api', atMs: Date.now() });
    await optOut('447700900001');
    await b.record(ofB, 'acked', 0, 1);
    stage.status = 500;
    await run();
    stage.status = 200;
    away.add('b');
    await optOut('447700900002');
    await tell(run, 2);
    expect(told()).to.deep.equal([]);
    away.clear();
    await tell(run, 2);
    expect(told().sort()).to.deep.equal(['b sent 0', 'null added', 'null added']);
    const people = stage.events.filter(({ device }) => device === null).map(({ data }) => JSON.stringify(data));
    expect(people.map((each) => /44770090000\d/.exec(each)![0])).to.deep.equal(['447700900001', '447700900002']);
  });

  it('holds up no others where what was tried in its place is away', async () => {
    const run = await create(SENT);
    const [ofA, ofB, ofC] = [await accept(PEOPLE), await b.accept(PEOPLE), await c.accept(PEOPLE)];
    stage.refuses = ({ device }) => device === 'a';
    await record(ofA, 'acked', 0, 1);
    await tell(run, 3);
    await b.record(ofB, 'acked', 0, 1);
    await die(run);
    expect(stage.posted.map(said)).to.deep.equal(['a sent 0', 'a sent 0', 'a sent 0', 'b sent 0']);
    stage.events.splice(0);
    away.add('b');
    await c.record(ofC, 'acked', 0, 2);
    await tell(run, 2);
    expect(told()).to.deep.equal(['c sent 0', 'c sent 1']);
    away.clear();
    await tell(run, 3);
    stage.refuses = () => false;
    stage.aheadMs += 24 * 3_600_000;
    await run();
    expect(told().slice(2)).to.deep.equal(['b sent 0', 'a sent 0']);
  });

  it('leaves what was tried in its place as it was', async () => {
    const run = await create(LISTS);
    const [ofA, ofB] = [await accept(PEOPLE), await b.accept(PEOPLE)];
    stage.refuses = (event) => rowsIn(event).some(({ device }) => device === 'a');
    await record(ofA, 'acked', 0, 1);
    await tell(run, 3);
    await b.record(ofB, 'acked', 0, 5);
    stage.aheadMs += 61_000;
    await die(run);
    expect(rows().map((each) => each.length)).to.deep.equal([5]);
    away.add('a');
    await b.record(ofB, 'acked', 5, 10);
    await tell(run, 2);
    away.clear();
    await relay();
    await tell(run, 3);
    expect(stage.events[1]).to.deep.equal(stage.events[0]);
    expect(rows().map((each) => each.length)).to.deep.equal([5, 5, 5]);
  });

  it('is told of others while it refuses what was passed, and puts that aside', async () => {
    const run = await create(SENT);
    const [ofA, ofB] = [await accept(PEOPLE), await b.accept(PEOPLE)];
    away.add('b');
    await b.record(ofB, 'acked', 0, 1);
    await relay();
    await record(ofA, 'acked', 0, 1);
    await run();
    stage.refuses = ({ device }) => device === 'b';
    away.clear();
    await tell(run, 4);
    await record(ofA, 'acked', 1, 3);
    await run();
    expect(told()).to.deep.equal(['a sent 0', 'a sent 1', 'a sent 2']);
    await b.record(ofB, 'acked', 1, 2);
    await tell(run);
    stage.refuses = () => false;
    stage.aheadMs += 24 * 3_600_000;
    await tell(run);
    expect(told().slice(3).sort()).to.deep.equal(['b sent 0', 'b sent 1']);
  });

  it('is told of what was passed while it refuses something of others', async () => {
    const run = await create(SENT);
    const [ofA, ofB] = [await accept(PEOPLE), await b.accept(PEOPLE)];
    stage.refuses = ({ device }) => device === 'a';
    away.add('b');
    await b.record(ofB, 'acked', 0, 1);
    await relay();
    await record(ofA, 'acked', 0, 1);
    await run();
    away.clear();
    await tell(run, 4);
    expect(told()).to.deep.equal(['b sent 0']);
    await b.record(ofB, 'acked', 1, 2);
    await tell(run);
    expect(told()).to.deep.equal(['b sent 0', 'b sent 1']);
  });

  it('is not asked more often than another one while it is down', async () => {
    const run = await create(SENT);
    const [ofA, ofB, ofC] = [await accept(PEOPLE), await b.accept(PEOPLE), await c.accept(PEOPLE)];
    away.add('b').add('c');
    for (let i = 0; i < 3; i++) {
      await b.record(ofB, 'acked', i, i + 1);
      await c.record(ofC, 'acked', i, i + 1);
      await relay();
    }
    await record(ofA, 'acked', 0, 1);
    await run();
    stage.status = 500;
    away.clear();
    const before = stage.posted.length;
    for (let hours = 0; hours < 24; hours++) {
      if (hours % 4 === 1) await record(ofA, 'acked', hours >> 2, (hours >> 2) + 1);
      for (let i = 0; i < 240; i++) {
        stage.aheadMs += 15_000;
        await run();
      }
    }
    expect(stage.posted.length - before).to.be.within(20, 110);
    stage.status = 200;
    await tell(run, 120);
    const all = [
      ...['a', 'b', 'c'].flatMap((device) => [0, 1, 2].map((i) => `${device} sent ${i}`)),
      ...[3, 4, 5].map((i) => `a sent ${i}`),
    ];
    expect([...told()].sort()).to.deep.equal(all.sort());
  });

  it('is told the rest of an entry by what its owner asked for then, as if it had not been away', async () => {
    const owed: number[][] = [];
    for (const isAway of [false, true]) {
      stage.events.splice(0);
      const run = await create({ types: ['message.delivered', 'messages.updated'], concurrency: 2, gatherSeconds: 1 });
      const ofB = await b.accept(PEOPLE);
      const events = PEOPLE.flatMap((_, recipient) =>
        (['acked', 'delivered'] as const).map((event) => ({ recipient, part: 0, event })),
      );
      await recordResults(space.store, b.owner, { tag: ofB, nowMs: Date.now() + stage.aheadMs, events });
      await die(run);
      stage.events.splice(0);
      if (isAway) {
        away.add('b');
        await run();
        away.clear();
      }
      let taken = 0;
      stage.take = async () => {
        if (++taken === 10)
          await changeWebhook(space.store, 'main', run.id, { settings: { types: ['messages.updated'] } });
      };
      await run();
      await tell(run, 3);
      stage.take = async () => {};
      owed.push([
        stage.events.filter(({ type }) => type === 'message.delivered').length,
        ...rows().map((each) => each.length),
      ]);
      await deleteWebhook(space.store, 'main', run.id);
    }
    expect(owed).to.deep.equal([
      [10, 30],
      [10, 30],
    ]);
  });

  it('holds up no others once it was taken, where its node is away again before all that follows is told', async () => {
    const run = await create({ ...LISTS, gatherSeconds: 1 });
    const [ofA, ofB] = [await accept(PEOPLE), await b.accept(PEOPLE)];
    await record(ofA, 'acked', 0, 1);
    await b.record(ofB, 'acked', 0, 1);
    stage.refuses = () => 503;
    await tell(run);
    away.add('b');
    await tell(run);
    await record(ofA, 'acked', 1, 2);
    await b.record(ofB, 'acked', 1, 2);
    await tell(run);
    stage.refuses = () => false;
    stage.take = async (event) => {
      if (rowsIn(event).some(({ device }) => device === 'b')) away.add('b');
    };
    away.clear();
    await tell(run, 2);
    await record(ofA, 'acked', 2, 3);
    await tell(run, 2);
    const all = () => rows().flatMap((each) => each.map(({ device, index }) => `${device} ${index}`));
    expect(all()).to.deep.equal(['a 0', 'b 0', 'a 1', 'a 2']);
    stage.take = async () => {};
    away.clear();
    await tell(run, 2);
    expect(all().slice(4)).to.deep.equal(['b 1']);
  });
});

import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { claimDelivery, type TakenWebhook, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { listParked, type ParkedChange } from '@gateway/store/webhooks/delivering/parked/parked';
import { expect } from 'chai';
import { useAwayDevices } from '../../store/test/support/use-away-devices.js';
import { ownerOf } from './support/owner-of.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${40_000 + i}`);
const SENT = { types: ['message.sent', 'message.delivered'] };
const LISTS = { types: ['messages.updated'] };
const DAY_MS = 24 * 3_600_000;
const LATER_MS = 10_000;

const said = ({ device, type, data: { index } }: GatewayEvent) => `${device} ${type.split('.')[1]} ${index}`;

describe('what is put aside while the node of Redis is away that has some of it', () => {
  const { space, stage, create, accept, record, useDevice, rows } = useLoggedEndpoint();
  const away = useAwayDevices(space);
  const told = (from = 0) => stage.events.slice(from).map(said);
  type Run = Awaited<ReturnType<typeof create>>;
  let b: Awaited<ReturnType<typeof useDevice>>;
  let c: typeof b;
  beforeEach(async () => {
    b = await useDevice('b');
    c = await useDevice('c');
  });

  const keysParked = async ({ id }: Run) =>
    (await listParked(space.store, { workspace: 'main', id }, { limit: 500 })).length;
  /** Something of `c` happens every 20 s, until so many are put aside. */
  const parkAll = async (run: Run, count: number) => {
    const ofC = await c.accept(PEOPLE);
    for (let i = 0; i < PEOPLE.length && (await keysParked(run)) < count; i++) {
      await c.record(ofC, 'acked', i, i + 1);
      stage.aheadMs += 40_000;
      await run();
    }
    expect(await keysParked(run)).to.be.within(count, count + 1);
    return stage.events.length;
  };

  it('is told of the others, and of these in order once it is back', async () => {
    const run = await create(SENT);
    const [ofA, ofB] = [await accept(PEOPLE.slice(0, 1)), await b.accept(PEOPLE.slice(0, 2))];
    stage.refuses = ({ device }) => device !== 'c';
    await b.record(ofB, 'acked', 0, 2);
    await record(ofA, 'acked', 0, 1);
    await b.record(ofB, 'delivered', 0, 1);
    const before = await parkAll(run, 3);
    away.add('b');
    stage.refuses = () => false;
    stage.aheadMs += DAY_MS;
    expect(await run()).to.equal('waiting');
    expect(told(before)).to.deep.equal(['a sent 0']);
    expect(await run()).to.equal('waiting');
    away.clear();
    stage.aheadMs += LATER_MS;
    await run();
    const ofFirst = told(before).filter((each) => each.endsWith('0'));
    expect(ofFirst).to.deep.equal(['a sent 0', 'b sent 0', 'b delivered 0']);
    expect(told(before)).to.have.length(4);
    expect(await keysParked(run)).to.equal(0);
  });

  it('is told of the others in lists', async () => {
    const run = await create({ ...LISTS, gatherSeconds: 1 });
    const [ofA, ofB] = [await accept(PEOPLE), await b.accept(PEOPLE)];
    stage.refuses = ({ data }) => (data.changes as ChangeData[]).some(({ device }) => device !== 'c');
    await b.record(ofB, 'acked', 0, 20);
    await record(ofA, 'acked', 0, 20);
    const before = await parkAll(run, 40);
    away.add('b');
    stage.refuses = () => false;
    stage.aheadMs += DAY_MS;
    expect(await run()).to.equal('waiting');
    const devices = () =>
      rows()
        .slice(before)
        .flatMap((each) => each.map(({ device }) => device))
        .filter((device) => device !== 'c');
    expect(devices()).to.deep.equal(Array(20).fill('a'));
    away.clear();
    stage.aheadMs += LATER_MS;
    await run();
    expect(devices()).to.deep.equal([...Array(20).fill('a'), ...Array(20).fill('b')]);
  });

  it('is told of the others, and of a message that cannot be opened when it can', async () => {
    const run = await create({ types: ['message.received', 'message.sent'] });
    const ofA = await accept(PEOPLE.slice(0, 1));
    stage.refuses = ({ device }) => device !== 'c';
    await recordReceived(space.store, b.owner, {
      message: { platformId: '3AF1', jid: '491700000041@s.whatsapp.net', text: 'hello' },
      nowMs: Date.now() + stage.aheadMs,
    });
    await record(ofA, 'acked', 0, 1);
    const before = await parkAll(run, 2);
    away.add('b');
    stage.refuses = () => false;
    stage.aheadMs += DAY_MS;
    await run();
    expect(told(before)).to.deep.equal(['a sent 0']);
    away.clear();
    stage.aheadMs += LATER_MS;
    await run();
    expect(stage.events.at(-1)!.data).to.deep.include({ platformMessageId: '3AF1' });
    expect(await keysParked(run)).to.equal(0);
  });

  it('is looked through a few times, however much of it there is', async () => {
    const run = await create(SENT);
    const ofB = await b.accept(PEOPLE);
    await b.record(ofB, 'acked', 0, 1);
    await run();
    const [{ id: event }] = stage.events as [GatewayEvent];
    const entry = (await space.store.redis.xrevrange(workspaceKeys(space, 'main').eventLog, '+', '-'))[0]![0];
    const taken = (await takeWebhook(
      space.store,
      { workspace: 'main', id: run.id },
      ownerOf('process-1'),
    )) as TakenWebhook;
    const changes = Array.from({ length: 600 }, (_, i): ParkedChange => {
      return { what: 'add', key: `key${i}`, event: { entry, id: event, type: 'message.sent' } };
    });
    const write = { lane: 'prompt' as const, state: taken.lanes.prompt, changes, nowMs: Date.now() };
    // The same state is the same step again.
    const state = { ...write.state, doubtsUntilMs: 1 };
    expect(await claimDelivery(space.store, taken, { ...write, state })).to.equal(true);
    away.add('b');
    let looks = 0;
    const step = space.store.run;
    space.store.run = (name, ...rest) => {
      if (name === 'take-webhook') looks++;
      return step(name, ...rest);
    };
    expect(await run()).to.equal('waiting');
    space.store.run = step;
    expect(looks).to.be.at.most(5);
    away.clear();
    stage.aheadMs += LATER_MS;
    await run();
    expect(await keysParked(run)).to.equal(0);
  });

  it('comes again as it was where it had no answer', async () => {
    const run = await create({ ...LISTS, gatherSeconds: 1 });
    const ofB = await b.accept(PEOPLE);
    stage.refuses = ({ data }) => (data.changes as ChangeData[]).some(({ device }) => device === 'b');
    await b.record(ofB, 'acked', 0, 20);
    await parkAll(run, 20);
    stage.aheadMs += DAY_MS;
    const posted = stage.posted.length;
    stage.refuses = () => 0;
    await run();
    expect(stage.posted).to.have.length(posted + 1);
    away.add('b');
    stage.refuses = () => false;
    stage.aheadMs += DAY_MS;
    expect(await run()).to.equal('waiting');
    away.clear();
    await run();
    expect(stage.posted[posted + 1]).to.deep.equal(stage.posted[posted]);
    expect(await keysParked(run)).to.equal(0);
  });
});

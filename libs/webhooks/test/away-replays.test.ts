import type { GatewayEvent } from '@gateway/contracts/events/events';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useAwayDevices } from '../../store/test/support/use-away-devices.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${40_000 + i}`);
const SENT = { types: ['message.sent', 'message.delivered'] };
const LISTS = { types: ['messages.updated'] };
const HOUR_MS = 3_600_000;

const said = ({ device, type, data: { index } }: GatewayEvent) => `${device} ${type.split('.')[1]} ${index}`;

describe('a replay while the node of Redis is away that has some devices', () => {
  const { space, stage, create, accept, record, useDevice, relay, rows } = useLoggedEndpoint();
  const away = useAwayDevices(space);
  type Run = Awaited<ReturnType<typeof create>>;
  type Wanted = Parameters<typeof replayWebhook>[2];
  const told = (from = 0) => stage.events.slice(from).map(said);
  const replay = ({ id }: Run, wanted: Wanted) =>
    replayWebhook(space.store, { workspace: 'main', id }, wanted, Date.now() + stage.aheadMs);
  const anHour = (): Wanted => ({ afterMs: Date.now() - HOUR_MS, beforeMs: Date.now() + HOUR_MS });
  const waiting = ({ id }: Run) => space.store.redis.llen(`${space.prefix}:{main}:webhook-replays:${id}`);

  /** Of each device three messages, sent and then delivered; all that is told. */
  const tellOfTwo = async (run: Run) => {
    const b = await useDevice('b');
    const [ofA, ofB] = [await accept(PEOPLE.slice(0, 3)), await b.accept(PEOPLE.slice(0, 3))];
    for (const status of ['acked', 'delivered'] as const) {
      for (let i = 0; i < 3; i++) {
        await b.record(ofB, status, i, i + 1);
        await relay();
        await record(ofA, status, i, i + 1);
        await relay();
      }
    }
    await run();
    expect(stage.events).to.have.length(12);
    return stage.events.slice();
  };
  const ofDevice = (name: string) =>
    ['sent', 'delivered'].flatMap((status) => [0, 1, 2].map((i) => `${name} ${status} ${i}`));

  it('tells of the others, and of these in order once it is back, each event once', async () => {
    const run = await create(SENT);
    const before = await tellOfTwo(run);
    away.add('b');
    await replay(run, anHour());
    expect(await run()).to.equal('waiting');
    expect(told(12)).to.deep.equal(ofDevice('a'));
    expect(await waiting(run)).to.equal(1);
    away.clear();
    await run();
    expect(told(18)).to.deep.equal(ofDevice('b'));
    expect(await waiting(run)).to.equal(0);
    const idsOf = (events: readonly GatewayEvent[]) => events.map(({ id }) => id).sort();
    expect(idsOf(stage.events.slice(12))).to.deep.equal(idsOf(before));
  });

  it('is passed by the next one, and asked for once more it is none more', async () => {
    const run = await create(SENT);
    const events = await tellOfTwo(run);
    const [ofA, ofB] = ['a', 'b'].map((name) => events.filter(({ device }) => device === name).map(({ id }) => id));
    for (const id of [ofB![0]!, ofB![4]!, ofA![1]!, ofB![5]!, ofA![2]!, ofB![0]!])
      expect(await replay(run, { ids: [id] })).to.deep.equal({ unknown: [] });
    away.add('b');
    expect(await run()).to.equal('waiting');
    expect(told(12)).to.deep.equal(['a sent 1', 'a sent 2']);
    away.clear();
    expect(await replay(run, { ids: [ofB![0]!] })).to.deep.equal({ unknown: [] });
    away.add('b');
    expect(await waiting(run)).to.equal(3);
    // Others wait there for their turn.
    for (let look = 0; look < 4; look++) await run();
    expect(stage.events).to.have.length(14);
    await replay(run, { ids: [ofA![0]!] });
    for (let look = 0; look < 4; look++) await run();
    expect(told(14)).to.deep.equal(['a sent 0']);
    away.clear();
    await run();
    expect(told(15).sort()).to.deep.equal(['b delivered 1', 'b delivered 2', 'b sent 0']);
    expect(await waiting(run)).to.equal(0);
  });

  it('goes on with what it passed in another process, where it is away again in the middle of that', async () => {
    const run = await create(SENT);
    await tellOfTwo(run);
    away.add('b');
    await replay(run, anHour());
    await replay(run, { afterMs: Date.now() - 2 * HOUR_MS, beforeMs: Date.now() - HOUR_MS });
    await run();
    away.clear();
    stage.take = async () => {
      if (stage.events.length >= 20) away.add('b');
    };
    await run();
    expect(told(18)).to.deep.equal(ofDevice('b').slice(0, 3));
    stage.take = async () => {};
    away.clear();
    await space.store.redis.del(`${space.prefix}:{main}:webhook-session:process-1`);
    await run.as('process-2');
    expect(told(18)).to.deep.equal(ofDevice('b'));
    expect(await waiting(run)).to.equal(0);
  });

  it('is a request as it was, as a whole, and others are told before', async () => {
    const run = await create(LISTS);
    const b = await useDevice('b');
    const [ofA, ofB] = [await accept(PEOPLE), await b.accept(PEOPLE)];
    await record(ofA, 'acked', 0, 20);
    await b.record(ofB, 'acked', 0, 20);
    stage.aheadMs = 31_000;
    await run();
    await record(ofA, 'delivered', 0, 20);
    stage.aheadMs += 31_000;
    await run();
    const [both, ofOne] = stage.events.slice();
    away.add('b');
    await replay(run, { ids: [both!.id, ofOne!.id] });
    await run();
    expect(stage.events.slice(2)).to.deep.equal([ofOne]);
    away.clear();
    await run();
    expect(stage.events.slice(3)).to.deep.equal([both]);
    expect(rows()).to.have.length(4);
    expect(await waiting(run)).to.equal(0);
  });

  it('tells of what it was asked for only, where that had passed something, too', async () => {
    const run = await create(LISTS);
    const [b, c] = [await useDevice('b'), await useDevice('c')];
    const [ofA, ofB, ofC] = [await accept(PEOPLE), await b.accept(PEOPLE), await c.accept(PEOPLE)];
    away.add('b');
    for (let i = 0; i < 20; i += 5) {
      await b.record(ofB, 'acked', i, i + 5);
      await c.record(ofC, 'acked', i, i + 5);
      await record(ofA, 'acked', i, i + 5);
    }
    stage.aheadMs = 31_000;
    await run();
    away.clear();
    await run();
    const [withoutB, onlyB] = stage.events.slice();
    await replay(run, { ids: [withoutB!.id, onlyB!.id] });
    away.add('c');
    await run();
    expect(stage.events.slice(2)).to.deep.equal([onlyB]);
    away.clear();
    await run();
    expect(stage.events.slice(3)).to.deep.equal([withoutB]);
  });

  it('ends also where another one waits behind it, and what both passed is refused for a while', async () => {
    const run = await create(SENT);
    await tellOfTwo(run);
    away.add('b');
    for (const hours of [1, 2])
      await replay(run, { afterMs: Date.now() - hours * HOUR_MS, beforeMs: Date.now() + HOUR_MS });
    await run();
    await run();
    expect(told(12)).to.deep.equal([...ofDevice('a'), ...ofDevice('a')]);
    away.clear();
    stage.refuses = () => true;
    for (let look = 0; look < 40; look++) {
      expect(await run()).to.equal('waiting');
      stage.aheadMs += 5_000;
    }
    stage.refuses = () => false;
    for (let look = 0; look < 10; look++) {
      stage.aheadMs += HOUR_MS / 4;
      await run();
    }
    expect(told(24).sort()).to.deep.equal([...ofDevice('b'), ...ofDevice('b')].sort());
    expect(await waiting(run)).to.equal(0);
  });

  it('waits in strict order', async () => {
    const run = await create({ ...SENT, order: 'strict' });
    await tellOfTwo(run);
    away.add('b');
    await replay(run, anHour());
    expect(await run()).to.equal('waiting');
    expect(told(12)).to.deep.equal([]);
    away.clear();
    await run();
    expect(told(12)).to.have.length(12);
    expect(told(12)[0]).to.equal('b sent 0');
  });

  it('waits where the order becomes strict after it has passed something', async () => {
    const run = await create(SENT);
    await tellOfTwo(run);
    away.add('b');
    await replay(run, anHour());
    await run();
    await changeWebhook(space.store, 'main', run.id, { settings: { order: 'strict' } });
    expect(await run()).to.equal('waiting');
    away.clear();
    await run();
    expect(told(12)).to.deep.equal([...ofDevice('a'), ...ofDevice('b')]);
  });
});

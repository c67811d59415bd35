import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { shardOf } from '@gateway/contracts/shards';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { recordResults } from '@gateway/store/sends/change-send';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { surveyWebhooks } from '@gateway/store/webhooks/survey-webhooks';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useAwayDevices } from '../../store/test/support/use-away-devices.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${40_000 + i}`);
const LISTS = { types: ['messages.updated'] };
const SENT = { types: ['message.sent', 'message.delivered', 'message.received'] };

const said = ({ device, type, data: { index } }: GatewayEvent) => `${device} ${type.split('.')[1]} ${index}`;

describe('a webhook while the node of Redis is away that has some devices', () => {
  const { space, stage, create, accept, record, useDevice, relay, rows, ownership } = useLoggedEndpoint();
  const away = useAwayDevices(space);
  const told = () => stage.events.map(said);
  let b: Awaited<ReturnType<typeof useDevice>>;
  let c: typeof b;

  before(() => {
    const shards = ['a', 'b', 'c'].map((device) => shardOf({ workspace: 'main', device }));
    expect(new Set(shards)).to.have.length(3);
  });
  beforeEach(async () => {
    b = await useDevice('b');
    c = await useDevice('c');
  });

  it('is told of the others, and of these in order once it is back, each event once', async () => {
    const run = await create(SENT);
    const [ofA, ofB] = [await accept(PEOPLE.slice(0, 3)), await b.accept(PEOPLE.slice(0, 3))];
    await record(ofA, 'acked', 0, 1);
    await b.record(ofB, 'acked', 0, 1);
    await run();
    away.add('b');
    await b.record(ofB, 'acked', 1, 2);
    await record(ofA, 'acked', 1, 2);
    await b.record(ofB, 'delivered', 1, 2);
    await record(ofA, 'delivered', 1, 2);
    expect(await run()).to.equal('waiting');
    expect(told()).to.deep.equal(['a sent 0', 'b sent 0', 'a sent 1', 'a delivered 1']);
    await b.record(ofB, 'acked', 2, 3);
    await record(ofA, 'acked', 2, 3);
    await run();
    away.clear();
    await run();
    expect(told().slice(4)).to.deep.equal(['a sent 2', 'b sent 1', 'b delivered 1', 'b sent 2']);
    await b.record(ofB, 'delivered', 2, 3);
    await run();
    expect(told().at(-1)).to.equal('b delivered 2');
    expect(new Set(stage.posted.map(({ id }) => id))).to.have.length(stage.posted.length);
  });

  it('is told of lists of the others as if these were not there, and of theirs at once when it is back', async () => {
    const run = await create(LISTS);
    const [ofA, ofB] = [await accept(PEOPLE), await b.accept(PEOPLE)];
    for (let i = 0; i < 20; i += 5) {
      await record(ofA, 'acked', i, i + 5);
      await b.record(ofB, 'acked', i, i + 5);
    }
    away.add('b');
    stage.aheadMs = 31_000;
    await run();
    expect(rows().map((each) => each.map(({ device }) => device))).to.deep.equal([Array(20).fill('a')]);
    away.clear();
    await run();
    expect(rows()).to.have.length(2);
    expect(rows()[1]!.map(({ device, index }) => `${device}${index}`)).to.deep.equal(PEOPLE.map((_, i) => `b${i}`));
  });

  it('goes on with them when it is away in the middle of what it had passed, and in the middle of an entry', async () => {
    const run = await create({ ...SENT, gatherSeconds: 1 });
    const [ofA, ofB] = [await accept(PEOPLE), await b.accept(PEOPLE)];
    away.add('b');
    await b.record(ofB, 'acked', 0, 20);
    await b.record(ofB, 'delivered', 0, 20);
    await record(ofA, 'acked', 0, 1);
    stage.aheadMs = 2_000;
    await run();
    expect(told()).to.deep.equal(['a sent 0']);
    away.clear();
    stage.take = async () => {
      if (stage.posted.length === 8) away.add('b');
    };
    await run();
    await record(ofA, 'acked', 1, 2);
    stage.aheadMs = 4_000;
    await run();
    stage.take = async () => {};
    away.clear();
    await run();
    const ofEach = (device: string) => told().filter((each) => each.startsWith(device));
    expect(ofEach('a')).to.deep.equal(['a sent 0', 'a sent 1']);
    expect(ofEach('b')).to.deep.equal(
      ['sent', 'delivered'].flatMap((status) => PEOPLE.map((_, i) => `b ${status} ${i}`)),
    );
    expect(stage.events).to.have.length(42);
  });

  it('gets what had failed again as it was, and meanwhile what comes of devices that were not in it', async () => {
    const run = await create(LISTS);
    const [ofA, ofB, ofC] = [await accept(PEOPLE), await b.accept(PEOPLE), await c.accept(PEOPLE)];
    await record(ofA, 'acked', 0, 20);
    await b.record(ofB, 'acked', 0, 20);
    stage.aheadMs = 31_000;
    stage.status = 500;
    await run();
    expect(stage.posted).to.have.length(1);
    stage.status = 200;
    away.add('b');
    await record(ofA, 'delivered', 0, 20);
    await c.record(ofC, 'acked', 0, 20);
    stage.aheadMs += 40_000;
    await run();
    expect(rows().map((each) => each.map(({ device }) => device))).to.deep.equal([Array(20).fill('c')]);
    away.clear();
    await run();
    expect(stage.posted[2]).to.deep.equal(stage.posted[0]);
    stage.aheadMs += 40_000;
    await run();
    const sent = rows().flat() as ChangeData[];
    const ofDevice = (name: string) => sent.filter(({ device }) => device === name).map(({ status }) => status);
    expect(ofDevice('a')).to.deep.equal([...Array(20).fill('sent'), ...Array(20).fill('delivered')]);
    expect(sent).to.have.length(80);
  });

  it('gets what had failed again as it was when it is away again before that was taken', async () => {
    const run = await create(LISTS);
    const ofB = await b.accept(PEOPLE);
    away.add('b');
    await b.record(ofB, 'acked', 0, 10);
    stage.aheadMs = 31_000;
    await run();
    await b.record(ofB, 'acked', 10, 20);
    stage.aheadMs = 62_000;
    await run();
    away.clear();
    stage.status = 500;
    await run();
    away.add('b');
    stage.status = 200;
    stage.aheadMs += 40_000;
    await run();
    expect(stage.posted).to.have.length(1);
    await b.record(ofB, 'delivered', 0, 10);
    stage.aheadMs += 40_000;
    await run();
    away.clear();
    await run();
    expect(stage.events[0]).to.deep.equal(stage.posted[0]);
    expect(rows().map((each) => each.length)).to.deep.equal([20, 10]);
  });

  it('is told what it passed of an entry by what its owner asked for then', async () => {
    const run = await create({ types: ['message.delivered', 'messages.updated'] });
    const ofB = await b.accept(PEOPLE.slice(0, 5));
    stage.take = async () => {
      if (stage.posted.length === 0) away.add('b');
    };
    const events = ['acked', 'acked', 'acked', 'delivered', 'delivered'] as const;
    await recordResults(space.store, b.owner, {
      ...{ tag: ofB, nowMs: Date.now() },
      events: events.map((event, recipient) => ({ recipient, part: 0, event })),
    });
    await run();
    // Until it has passed the entry.
    stage.aheadMs = 6_000;
    await run();
    const alone = told();
    await changeWebhook(space.store, 'main', run.id, { settings: { types: ['messages.updated'] } });
    stage.take = async () => {};
    away.clear();
    await run();
    expect(alone).to.deep.equal(['b delivered 3']);
    expect(rows().map((each) => each.map(({ index }) => index))).to.deep.equal([[0, 1, 2, 4]]);
  });

  it('is told of others while it refuses something, and what comes behind that is away', async () => {
    const run = await create(SENT);
    const few = PEOPLE.slice(0, 1);
    const [ofA, ofB, ofC] = [await accept(few), await b.accept(few), await c.accept(few)];
    stage.refuses = ({ device }) => device === 'a';
    away.add('b');
    for (const { of, tag } of [
      { of: { record }, tag: ofA },
      { of: b, tag: ofB },
      { of: c, tag: ofC },
    ]) {
      await of.record(tag, 'acked', 0, 1);
      await relay();
    }
    for (let failures = 0; failures < 4; failures++) {
      stage.aheadMs += 20_000;
      await run();
    }
    expect(told()).to.deep.equal(['c sent 0']);
    away.clear();
    await run();
    expect(told()).to.deep.equal(['c sent 0', 'b sent 0']);
    stage.refuses = () => false;
    stage.aheadMs += 24 * 3_600_000;
    await run();
    expect(told()).to.deep.equal(['c sent 0', 'b sent 0', 'a sent 0']);
  });

  it('is told of a person who wrote to another device, while a claimed message cannot be read', async () => {
    const run = await create(SENT);
    const write = (of: typeof ownership, platformId: string) =>
      recordReceived(space.store, of, {
        message: { platformId, jid: '491700000041@s.whatsapp.net', text: 'hello' },
        nowMs: Date.now() + stage.aheadMs,
      });
    stage.status = 500;
    await write(ownership, '3AF1');
    await run();
    away.add('a');
    stage.status = 200;
    const ofB = await b.accept(PEOPLE.slice(0, 1));
    await b.record(ofB, 'acked', 0, 1);
    stage.aheadMs = 6_000;
    await run();
    expect(told()).to.deep.equal(['b sent 0']);
    away.clear();
    await run();
    expect(stage.events[1]).to.deep.equal(stage.posted[0]);
  });

  it('waits in strict order', async () => {
    const run = await create({ ...SENT, order: 'strict' });
    const [ofA, ofB] = [await accept(PEOPLE.slice(0, 1)), await b.accept(PEOPLE.slice(0, 1))];
    away.add('b');
    await b.record(ofB, 'acked', 0, 1);
    await relay();
    await record(ofA, 'acked', 0, 1);
    await run();
    expect(told()).to.deep.equal([]);
    away.clear();
    await run();
    expect(told()).to.deep.equal(['b sent 0', 'a sent 0']);
  });

  it('waits where the order becomes strict after something was passed', async () => {
    const run = await create(SENT);
    const [ofA, ofB] = [await accept(PEOPLE.slice(0, 2)), await b.accept(PEOPLE.slice(0, 2))];
    away.add('b');
    await b.record(ofB, 'acked', 0, 1);
    await relay();
    await record(ofA, 'acked', 0, 1);
    await run();
    await changeWebhook(space.store, 'main', run.id, { settings: { order: 'strict' } });
    await b.record(ofB, 'acked', 1, 2);
    await relay();
    await record(ofA, 'acked', 1, 2);
    await run();
    expect(told()).to.deep.equal(['a sent 0']);
    away.clear();
    await run();
    expect(told()).to.deep.equal(['a sent 0', 'b sent 0', 'b sent 1', 'a sent 1']);
  });

  it('gets a request again as it was that passed something', async () => {
    const run = await create(LISTS);
    const [ofA, ofB] = [await accept(PEOPLE), await b.accept(PEOPLE)];
    away.add('b');
    for (let i = 0; i < 20; i += 5) {
      await b.record(ofB, 'acked', i, i + 5);
      await record(ofA, 'acked', i, i + 5);
    }
    stage.aheadMs = 31_000;
    await run();
    away.clear();
    await run();
    const [first, second] = stage.events;
    expect(stage.events).to.have.length(2);
    const ids = stage.events.map(({ id }) => id);
    const asked = await replayWebhook(space.store, { workspace: 'main', id: run.id }, { ids }, Date.now());
    expect(asked).to.deep.equal({ unknown: [] });
    await run();
    expect(stage.events.slice(2)).to.deep.equal([first, second]);
  });

  it('counts as late while something is passed', async () => {
    const run = await create(SENT);
    const [ofA, ofB] = [await accept(PEOPLE.slice(0, 1)), await b.accept(PEOPLE.slice(0, 1))];
    away.add('b');
    await b.record(ofB, 'acked', 0, 1);
    await relay();
    const before = Date.now();
    await record(ofA, 'acked', 0, 1);
    await run();
    expect((await surveyWebhooks(space.store)).undeliveredSinceMs).to.be.at.most(before);
    away.clear();
    stage.aheadMs = 6_000;
    await run();
    expect(await surveyWebhooks(space.store)).to.not.have.property('undeliveredSinceMs');
  });
});

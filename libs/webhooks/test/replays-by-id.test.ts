import type { ChangeData } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { recordResults } from '@gateway/store/sends/change-send';
import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const SOME_MS = 60_000;

describe('events that are told to a webhook once more, by their ids', () => {
  const logged = useLoggedEndpoint();
  const { space, stage, address, ownership } = logged;
  const people = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `44770090${10_000 + from + i}`);
  const replay = (id: string, ids: readonly string[]) =>
    replayWebhook(space.store, { workspace: 'main', id }, { ids }, Date.now());
  /** As after 200 further requests. */
  const forgetRequests = async (id: string) => {
    const { webhookAttempts, webhookAttemptTimes } = workspaceKeys(space.store.space, 'main');
    await space.store.redis.del(webhookAttempts(id), webhookAttemptTimes(id));
  };
  const receive = (platformId: string) =>
    recordReceived(space.store, ownership, {
      ...{ message: { platformId, jid: '491700000041@s.whatsapp.net', text: 'hello' }, nowMs: Date.now() },
    });
  const texts = () => stage.events.map((event) => JSON.stringify(event));

  it('are all requests of `/deliveries`, also where several are made at a time', async () => {
    const tell = await logged.create({ types: ['message.sent'], concurrency: 5 });
    const tag = await logged.accept(people(8));
    await logged.record(tag, 'acked', 0, 8);
    await tell();
    const first = texts();
    const attempts = await listAttempts(space.store, 'main', tell.id, 200);
    const ids = attempts.map(({ webhookId }) => webhookId).filter((id) => id !== 'evt_0');
    expect(ids, 'each once').to.have.members(stage.events.map(({ id }) => id));
    expect(await replay(tell.id, ids)).to.deep.equal({ unknown: [] });
    await tell();
    expect(texts().slice(8), 'the same bytes').to.have.members(first);
  });

  it('are no requests of `/deliveries` of which nothing is asked for any more', async () => {
    const tell = await logged.create({ types: ['messages.updated', 'message.sent', 'message.received'] });
    await logged.record(await logged.accept(people(2)), 'acked', 0, 2);
    await receive('3A9');
    stage.aheadMs += SOME_MS;
    await tell();
    const idsOf = (wanted: string) => stage.events.filter(({ type }) => type === wanted).map(({ id }) => id);
    const [sent, together, received] = ['message.sent', 'messages.updated', 'message.received'].map(idsOf);
    const all = [...sent!, ...together!, ...received!];
    expect(all).to.have.length(4);
    const cases: [object, string[]][] = [
      [{ types: ['message.received'] }, received!],
      [{ types: ['message.read'] }, []],
      [{ types: ['message.sent'] }, sent!],
      [{ types: ['messages.updated', 'message.received'] }, [...sent!, ...received!]],
      [{ devices: ['other'] }, []],
    ];
    for (const [settings, known] of cases) {
      await changeWebhook(space.store, 'main', tell.id, { settings });
      stage.events.length = 0;
      const unknown = all.filter((id) => !known.includes(id));
      expect(await replay(tell.id, all), JSON.stringify(settings)).to.deep.equal({ unknown });
      await tell();
      expect(stage.events, 'of all others').to.have.length(known.length);
    }
  });

  it('are none of which `/deliveries` says nothing, also where others were refused meanwhile', async () => {
    const tell = await logged.create({ types: ['message.sent'], concurrency: 3 });
    stage.refuses = ({ data }) => [2, 5].includes(Number(data.index));
    const tag = await logged.accept(people(8));
    await logged.record(tag, 'acked', 0, 8);
    await tell();
    const attempts = await listAttempts(space.store, 'main', tell.id, 200);
    const known = attempts
      .map(({ webhookId, status }) => `${webhookId} ${status}`)
      .filter((each) => each !== 'evt_0 200');
    const taken = new Set(stage.events.map(({ id }) => id));
    expect(known).to.have.members(stage.posted.map(({ id }) => `${id} ${taken.has(id) ? 200 : 422}`));
  });

  it('are no requests of which the log has only a part: who was told of all has missed nothing', async () => {
    const tell = await logged.create({ types: ['messages.updated'] });
    const tag = await logged.accept(people(1));
    for (const event of ['acked', 'delivered'] as const) {
      await logged.record(tag, event, 0, 1);
      await tell();
    }
    const [first, second] = stage.events.map(({ id }) => id);
    const { eventLog, eventMarks } = workspaceKeys(space.store.space, 'main');
    const entries = (await space.store.redis.xrange(eventLog, '-', '+')).map(([entry]) => entry);
    await space.store.redis.xtrim(eventLog, 'MINID', entries.at(-1)!);
    await space.store.redis.hset(eventMarks, 'goneTo', entries.at(-2)!);
    expect(await replay(tell.id, [first!, second!])).to.deep.equal({ unknown: [first] });
    await tell();
    expect(stage.events.map(({ id }) => id)).to.deep.equal([first, second, second]);
  });

  it('are single events that were told long ago, the same bytes', async () => {
    const tell = await logged.create();
    const tag = await logged.accept(people(2));
    await logged.record(tag, 'acked', 0, 2);
    for (const each of ['3A.1', '3A.2']) await receive(each);
    for (const event of ['delivered', 'read'] as const) await logged.record(tag, event, 0, 2);
    await tell();
    await forgetRequests(tell.id);
    const wanted = stage.events.filter(({ type }) => type !== 'messages.updated');
    expect(wanted.map(({ type }) => type)).to.include.members(['message.received', 'send.finished']);
    const told = stage.events.length;
    expect(
      await replay(
        tell.id,
        wanted.map(({ id }) => id),
      ),
    ).to.deep.equal({ unknown: [] });
    await tell();
    expect(texts().slice(told)).to.deep.equal(wanted.map((event) => JSON.stringify(event)));
  });

  it('are single changes of those that were told together, each alone', async () => {
    const tell = await logged.create({ gatherSeconds: 1 });
    const tag = await logged.accept(people(600));
    await logged.record(tag, 'acked', 0, 600);
    stage.aheadMs = SOME_MS;
    await tell();
    const rows = logged.rows().flat();
    expect(rows).to.have.length(600);
    const wanted = [rows[0]!, rows[517]!, rows[599]!];
    stage.events.length = 0;
    expect(
      await replay(
        tell.id,
        wanted.map(({ id }) => id),
      ),
    ).to.deep.equal({ unknown: [] });
    await tell();
    expect(stage.events.map(({ data }) => data.changes as ChangeData[])).to.deep.equal(wanted.map((row) => [row]));
  });

  it('are changes that are told alone as well, alone', async () => {
    const tell = await logged.create({ types: ['messages.updated', 'message.sent'] });
    const tag = await logged.accept(people(3));
    await logged.record(tag, 'acked', 0, 3);
    await tell();
    await forgetRequests(tell.id);
    const [first, , third] = stage.events.filter(({ type }) => type === 'message.sent');
    stage.events.length = 0;
    expect(await replay(tell.id, [third!.id, first!.id])).to.deep.equal({ unknown: [] });
    await tell();
    expect(stage.events).to.deep.equal([third, first]);
  });

  it('are changes that are told with others only where other statuses are told alone, each alone', async () => {
    const tell = await logged.create({ types: ['messages.updated', 'message.read'] });
    const tag = await logged.accept(people(4));
    await logged.record(tag, 'acked', 0, 4);
    await recordResults(space.store, ownership, {
      ...{ tag, nowMs: Date.now() },
      events: [0, 1, 2, 3].map((recipient) => ({
        recipient,
        part: 0,
        event: recipient % 2 ? ('read' as const) : ('delivered' as const),
      })),
    });
    await tell();
    await forgetRequests(tell.id);
    const rows = logged.rows().flat();
    const delivered = rows.filter(({ status }) => status === 'delivered');
    const read = stage.events.find(({ type }) => type === 'message.read')!;
    expect(rows.map(({ status }) => status))
      .to.have.length(8)
      .and.include.members(['sent', 'delivered', 'read']);
    const wanted = [rows[1]!, ...delivered];
    stage.events.length = 0;
    expect(await replay(tell.id, [...wanted.map(({ id }) => id), read.id])).to.deep.equal({ unknown: [] });
    await tell();
    expect(logged.rows()).to.deep.equal(wanted.map((row) => [row]));
    expect(stage.events.at(-1)).to.deep.equal(read);
    // By the ids of these requests they are found, too.
    const ids = stage.events.map(({ id }) => id);
    const first = texts();
    stage.events.length = 0;
    expect(await replay(tell.id, ids)).to.deep.equal({ unknown: [] });
    await tell();
    expect(texts()).to.deep.equal(first);
  });

  for (const [asked, then] of [
    [['messages.updated'], ['messages.updated', 'message.read']],
    [
      ['messages.updated', 'message.sent'],
      ['messages.updated', 'message.read'],
    ],
    [['message.sent'], ['messages.updated', 'message.read']],
    [['messages.updated', 'message.read'], ['messages.updated']],
    [['messages.updated', 'message.read'], ['message.sent']],
  ]) {
    it(`are changes told alone each as is asked for then: ${then!.join(' and ')} after ${asked!.join(' and ')}`, async () => {
      const tell = await logged.create({ types: asked! });
      const tag = await logged.accept(people(3));
      await logged.record(tag, 'acked', 0, 3);
      await tell();
      await forgetRequests(tell.id);
      const rows = stage.events.flatMap(({ data }) => (data.changes ?? [data]) as ChangeData[]);
      const ids = [...new Set(rows.map(({ id }) => id))];
      expect(ids).to.have.length(3);
      for (const id of ids) {
        stage.events.length = 0;
        expect(await replay(tell.id, [id])).to.deep.equal({ unknown: [] });
        await changeWebhook(space.store, 'main', tell.id, { settings: { types: then! } });
        await tell();
        const told = stage.events.map(({ data }) => ((data.changes ?? [data]) as ChangeData[]).map((row) => row.id));
        expect(told).to.deep.equal([[id]]);
        await changeWebhook(space.store, 'main', tell.id, { settings: { types: asked! } });
      }
    });
  }

  it('are put aside like any other, and come again as they were', async () => {
    const tell = await logged.create({ types: ['messages.updated', 'message.read'] });
    const tag = await logged.accept(people(3));
    await logged.record(tag, 'acked', 0, 3);
    await tell();
    await forgetRequests(tell.id);
    const [, row] = logged.rows().flat();
    stage.events.length = 0;
    await replay(tell.id, [row!.id]);
    stage.refuses = () => true;
    await tell();
    stage.refuses = () => false;
    for (let turn = 0; turn < 3; turn++) {
      stage.aheadMs += SOME_MS;
      await tell();
    }
    expect(logged.rows()).to.deep.equal([[row]]);
  });

  for (const [how, status, count] of [
    ['refused', 409, 1],
    ['not answered', 0, 2],
  ] as const) {
    it(`hold up nothing that happens to the same people since, where they are ${how}, and come again as they were`, async () => {
      const tell = await logged.create({ types: ['messages.updated'] });
      const tag = await logged.accept(people(count));
      await logged.record(tag, 'acked', 0, count);
      await tell();
      const [first] = texts();
      const { id } = stage.events[0]!;
      stage.refuses = (event) => event.id === id && status;
      expect(await replay(tell.id, [id])).to.deep.equal({ unknown: [] });
      const countParked = async () =>
        (await listParked(space.store, { workspace: 'main', id: tell.id }, { limit: 9 })).length;
      for (let other = 0; other < 30 && (await countParked()) === 0; other++) {
        await logged.record(await logged.accept(people(1, 100 + other)), 'acked', 0, 1);
        await tell();
        stage.aheadMs += 5_000;
      }
      expect(await countParked()).to.equal(count);
      await logged.record(tag, 'delivered', 0, count);
      await tell();
      const delivered = logged.rows().flatMap((rows) => rows.filter((row) => row.status === 'delivered'));
      expect(delivered).to.have.length(count);
      stage.refuses = () => false;
      stage.aheadMs += 30 * SOME_MS;
      const before = stage.events.length;
      await tell();
      expect(texts().slice(before)).to.deep.equal([first]);
    });
  }

  describe('and put aside behind others of the same people,', () => {
    let tell: Awaited<ReturnType<typeof logged.create>>;
    let rows: ChangeData[][];
    let ids: string[];
    beforeEach(async () => {
      tell = await logged.create({ types: ['messages.updated'] });
      const tag = await logged.accept(people(2));
      for (const event of ['acked', 'delivered', 'read'] as const) {
        await logged.record(tag, event, 0, 2);
        await tell();
      }
      rows = logged.rows();
      ids = stage.events.map(({ id }) => id);
    });
    const countParked = async () =>
      Number(await space.store.redis.hget(workspaceKeys(space.store.space, 'main').webhook(tell.id), 'parkedEvents'));
    let others = 100;
    const replayUntil = async (id: string, parked: number) => {
      await replay(tell.id, [id]);
      for (let turn = 0; turn < 30 && (await countParked()) < parked; turn++) {
        await logged.record(await logged.accept(people(1, others++)), 'acked', 0, 1);
        await tell();
        stage.aheadMs += 5_000;
      }
      expect(await countParked()).to.equal(parked);
    };
    /** What comes behind the first of these is put aside with it, and told when it has been. */
    const replayAll = async (...all: string[]) => {
      stage.refuses = ({ id }) => id === all[0] && 0;
      for (const [i, id] of all.entries()) await replayUntil(id, 2 * (i + 1));
      stage.refuses = () => false;
      stage.aheadMs += 30 * SOME_MS;
      stage.events.length = 0;
      await tell();
      expect(await countParked()).to.equal(0);
    };

    it('come together once each, also where they were asked for twice', async () => {
      const [first, second] = ids as [string, string];
      await replayAll(first, second, second);
      expect(logged.rows()).to.deep.equal(rows.slice(0, 2));
    });

    it('come behind the one that was refused in the order in which they happened, whatever was asked for first', async () => {
      const [first, second, third] = ids as [string, string, string];
      await replayAll(third, second, first);
      expect(logged.rows()).to.deep.equal([rows[2], [...rows[0]!, ...rows[1]!]]);
    });
  });

  it('are none that the endpoint does not ask for, that did not happen, or are no events', async () => {
    const tell = await logged.create({ types: ['message.sent'], devices: [address.device] });
    const other = await logged.useDevice('b');
    const all = await logged.create({ types: ['message.sent', 'message.received'] });
    const tags = [await logged.accept(people(1)), await other.accept(people(1))];
    await logged.record(tags[0]!, 'acked', 0, 1);
    await other.record(tags[1]!, 'acked', 0, 1);
    await receive('3A1');
    await all();
    const ids = stage.events.map(({ id }) => id);
    expect(ids).to.have.length(3);
    await tell();
    await forgetRequests(tell.id);
    const own = stage.events.find(({ type, device }) => type === 'message.sent' && device === address.device)!.id;
    const others = [
      ...ids.filter((id) => id !== own),
      own.replace('_sent', '_read'),
      'evt_none',
      `evt_${'a'.repeat(32)}`,
    ];
    expect(await replay(tell.id, [own, ...others])).to.deep.equal({ unknown: others });
  });

  it('are looked for among so many entries for all ids of a request together', async () => {
    const tell = await logged.create();
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    const filler = Buffer.from([1, 0, 0, 0, 0, 0, 0, 1, 0]);
    const since = Date.now();
    const pipeline = space.store.redis.pipeline();
    for (let n = 0; n < 12_000; n++) pipeline.xadd(eventLog, `${since - SOME_MS + 1_000}-${n + 1}`, 'e', filler);
    await pipeline.exec();
    await receive('3A1');
    await tell();
    await forgetRequests(tell.id);
    const { id } = stage.events.find(({ type }) => type === 'message.received')!;
    const none = Array.from({ length: 99 }, (_, n) => `evt_main_${since - SOME_MS - n}_connected`);
    let read = 0;
    const redis = new Proxy(space.store.redis, {
      get(target, name) {
        if (name === 'xrangeBuffer') read += 1;
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const place = { workspace: 'main', id: tell.id };
    const found = await replayWebhook({ ...space.store, redis }, place, { ids: [...none, id] }, Date.now());
    expect(found).to.deep.equal({ unknown: none });
    expect(read, 'reads of 500 entries').to.be.within(100, 130);
  });
});

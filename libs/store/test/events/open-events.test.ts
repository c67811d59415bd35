import { LOG_START } from '@gateway/contracts/events/cursor';
import { eventSchema } from '@gateway/contracts/events/events';
import { eventWorkspacesKey, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { DEFAULT_WEBHOOK_SETTINGS } from '@gateway/contracts/webhooks/webhook';
import type { Store } from '@gateway/store/core/store';
import { listEventWorkspaces, mendEvents, openEvents } from '@gateway/store/events/open-events';
import { closeUnwanted } from '@gateway/store/events/opening/close-events';
import { endOfLog, noteReading, readLog } from '@gateway/store/events/read-log';
import { readEvents } from '@gateway/store/events/reading/read-events';
import { boundLog, relayOutbox } from '@gateway/store/events/relay-outbox';
import { createWebhook, deleteWebhook } from '@gateway/store/webhooks/webhooks';
import { deleteWorkspace, findWorkspace } from '@gateway/store/workspace/delete-workspace';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { everything } from '../support/everything.js';
import { gapsOf, steppedStore } from '../support/stepped-store.js';

const NEW_WEBHOOK = {
  settings: DEFAULT_WEBHOOK_SETTINGS,
  target: { url: 'https://example.com/', headers: {} },
  secrets: [{ secret: 'whsec_x' }],
};
const DAY_MS = 86_400_000;

describe('the events of a workspace, opened and closed', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());
  const keys = () => workspaceKeys(space.store.space, 'main');
  const outboxes = () =>
    Array.from({ length: SHARDS }, (_, shard) => shardKeys(space.store.space, shard).outbox('main'));
  const count = async (all: readonly string[]) =>
    (await Promise.all(all.map((key) => space.store.redis.exists(key)))).filter((found) => found === 1).length;
  const areOpen = async () => (await space.store.redis.hget(keys().eventMarks, 'isOpen')) === '1';
  const inDays = (days: number) => Date.now() + days * DAY_MS;

  /** A store that runs `act` before it sends what is in that place. */
  const at = (place: number, act: () => Promise<unknown>) =>
    steppedStore(space.store, async (next) => void (next.place === place && (await act())));
  const killed = () => Promise.reject(new Error('killed'));
  /** All there is of open events. */
  async function expectOpen(what: string): Promise<void> {
    expect(await areOpen(), what).to.equal(true);
    expect(await count([keys().eventLog, ...outboxes()]), what).to.equal(1 + SHARDS);
    expect(await listEventWorkspaces(space.store), what).to.deep.equal(['main']);
  }
  async function expectNothing(what: string): Promise<void> {
    expect(await listEventWorkspaces(space.store), what).to.deep.equal([]);
    expect(
      (await everything(space)).filter((line) => !line.includes(':schema')),
      what,
    ).to.deep.equal([]);
  }
  /** Open since long ago, and wanted by no one. */
  async function openUnwanted(): Promise<void> {
    await openEvents(space.store, 'main');
    await space.store.redis.hset(keys().eventMarks, { openedAtMs: inDays(-8), readAtMs: inDays(-9) });
  }
  /** Of all outboxes, as readers are told. */
  async function toldGaps(): Promise<unknown[]> {
    for (const shard of outboxes().keys()) await relayOutbox(space.store, { workspace: 'main', shard });
    const page = await readEvents({ store: space.store, workspace: 'main' }, LOG_START, { limit: 100 });
    if ('oldest' in page) throw new Error('gone');
    for (const { event } of page.rows) expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
    return page.rows.flatMap(({ event: { type, data } }) => (type === 'events.gap' ? [data] : []));
  }
  const close = (store: Store) => closeUnwanted(store, 'main', Date.now());

  it('end when there is no webhook and no one has read them for a week', async () => {
    const { eventLog, eventMarks, webhooks } = keys();
    await openEvents(space.store, 'main');
    await space.store.redis.hset(eventMarks, 'openedAtMs', inDays(-8));
    await noteReading(space.store, 'main');
    expect(await closeUnwanted(space.store, 'main', inDays(6.9))).to.equal(false);
    await space.store.redis.sadd(webhooks, 'wh_x');
    expect(await closeUnwanted(space.store, 'main', inDays(8))).to.equal(false);
    await space.store.redis.del(webhooks);
    expect(await count([eventLog, ...outboxes()])).to.equal(1 + SHARDS);
    expect(await closeUnwanted(space.store, 'main', inDays(8))).to.equal(true);
    expect(await count([eventLog, eventMarks, ...outboxes()])).to.equal(0);
    expect(await listEventWorkspaces(space.store)).to.deep.equal([]);
  });

  it('are not wanted in the name of a workspace that was deleted: nothing is left, nor on the list by one that stood still behind its wish', async () => {
    const { store } = space;
    await createWorkspace(store, 'shop');
    const { keyId } = (await createApiToken(store, 'shop', { name: 'app' })).token;
    await openEvents(store, 'shop', { keyId });
    const remove = () => deleteWorkspace(store, 'shop', { logoutMs: 0, closingMs: 0 });
    await openEvents(at(1, remove), 'shop', { keyId });
    expect((await findWorkspace(store, 'shop', { withName: true })).found).to.deep.equal({ keys: [], entries: [] });
    expect(await openEvents(store, 'shop', { keyId }).catch(({ code }) => code)).to.equal('workspace_gone');
    expect((await findWorkspace(store, 'shop', { withName: true })).found).to.deep.equal({ keys: [], entries: [] });
  });

  it('are not open for someone whose wish a failover took back', async () => {
    const { eventMarks, eventLog } = keys();
    const forget = () => space.store.redis.del(eventMarks);
    expect(await openEvents(at(1, forget), 'main').catch(({ code }) => code)).to.equal('not_confirmed');
    expect(await space.store.redis.exists(eventLog)).to.equal(0);
    await openEvents(space.store, 'main');
    expect(await space.store.redis.exists(eventLog)).to.equal(1);
  });

  it('say that what came before is gone to those who come with a cursor of their former log', async () => {
    await openEvents(space.store, 'main');
    const former = await endOfLog(space.store, 'main');
    expect(await readLog(space.store, 'main', former, { limit: 1 })).to.have.property('entries');
    expect(await closeUnwanted(space.store, 'main', inDays(8))).to.equal(true);
    await openEvents(space.store, 'main');
    expect(await readLog(space.store, 'main', former, { limit: 1 })).to.have.property('oldest');
    const now = await endOfLog(space.store, 'main');
    expect(await readLog(space.store, 'main', now, { limit: 1 })).to.have.property('entries');
  });

  it('are there for a week after their only webhook was deleted, however old that was', async () => {
    const made = await createWebhook(space.store, 'main', NEW_WEBHOOK);
    await space.store.redis.hset(keys().eventMarks, 'openedAtMs', inDays(-30));
    if (made !== 'full') await deleteWebhook(space.store, 'main', made.id);
    expect(await closeUnwanted(space.store, 'main', inDays(6))).to.equal(false);
    await expectOpen('six days later');
    expect(await closeUnwanted(space.store, 'main', inDays(8))).to.equal(true);
  });

  it('are wanted for no longer by a webhook that is deleted once more, nor where they were ended', async () => {
    const { eventMarks } = keys();
    const made = await createWebhook(space.store, 'main', NEW_WEBHOOK);
    const another = await createWebhook(space.store, 'main', NEW_WEBHOOK);
    if (made === 'full' || another === 'full') throw new Error('full');
    await deleteWebhook(space.store, 'main', made.id);
    await space.store.redis.hset(eventMarks, 'readAtMs', 1);
    await deleteWebhook(space.store, 'main', made.id);
    expect(await space.store.redis.hget(eventMarks, 'readAtMs')).to.equal('1');
    await space.store.redis.del(eventMarks);
    await deleteWebhook(space.store, 'main', another.id);
    expect(await space.store.redis.exists(eventMarks)).to.equal(0);
  });

  it('leave nothing behind, wherever the process dies that ends them', async () => {
    await openUnwanted();
    const gaps = await gapsOf(space.store, close);
    expect(gaps.length).to.be.above(10);
    for (const { name, place } of gaps) {
      await openUnwanted();
      expect(await close(at(place, killed)).catch(({ message }: Error) => message)).to.equal('killed');
      // The next look around, if there is anything to look at.
      for (const workspace of await listEventWorkspaces(space.store))
        await closeUnwanted(space.store, workspace, Date.now());
      await expectNothing(`killed before ${name} ${place}`);
    }
  });

  it('are open for those who open them while others end them, wherever each of them stands still', async () => {
    await openUnwanted();
    const gaps = await gapsOf(space.store, close);
    const gapsOfOpening = await gapsOf(space.store, (store) => openEvents(store, 'main'));
    for (const gap of gaps) {
      for (const gapOfOpening of gapsOfOpening) {
        const what = `ended at ${gap.name} ${gap.place}, opened at ${gapOfOpening.name} ${gapOfOpening.place}`;
        await openUnwanted();
        let goOn = () => {};
        const isClosed = new Promise<void>((resolve) => {
          goOn = resolve;
        });
        let opening: Promise<void> | undefined;
        const openInPart = () =>
          new Promise<void>((isHere) => {
            const slow = at(gapOfOpening.place, () => {
              isHere();
              return isClosed;
            });
            opening = openEvents(slow, 'main').finally(isHere);
          });
        await close(at(gap.place, openInPart));
        goOn();
        await opening;
        await expectOpen(what);
        await closeUnwanted(space.store, 'main', inDays(8));
        await expectNothing(what);
      }
    }
  });

  it('are there for a webhook that is made while others end them, or that others would end while it is made', async () => {
    const create = async (store: Store) => {
      const webhook = await createWebhook(store, 'main', NEW_WEBHOOK);
      if (webhook === 'full') throw new Error('full');
      return () => deleteWebhook(space.store, 'main', webhook.id);
    };
    await openUnwanted();
    const gaps = await gapsOf(space.store, close);
    for (const { name, place } of gaps) {
      await openUnwanted();
      let remove: (() => Promise<unknown>) | undefined;
      await close(
        at(place, async () => {
          remove = await create(space.store);
        }),
      );
      await expectOpen(`made before ${name} ${place}`);
      await remove?.();
    }
    await openUnwanted();
    const gapsOfMaking = await gapsOf(space.store, async (store) => (await create(store))());
    for (const { name, place } of gapsOfMaking) {
      await openUnwanted();
      const remove = await create(at(place, () => close(space.store)));
      await expectOpen(`ended before ${name} ${place}`);
      await remove();
    }
  });

  it('are ended by no one who was about to when someone began to read them', async () => {
    await openUnwanted();
    for (const { name, place } of await gapsOf(space.store, close)) {
      await openUnwanted();
      let isRead = false;
      await close(
        at(place, async () => {
          isRead = await noteReading(space.store, 'main');
        }),
      );
      expect(await areOpen(), `${name} ${place}`).to.equal(isRead);
    }
  });

  it('come back on the list with the next who opens them, and all of them where there is a webhook', async () => {
    const { redis } = space.store;
    await openEvents(space.store, 'main');
    await redis.srem(eventWorkspacesKey(space.store.space), 'main');
    await openEvents(space.store, 'main');
    await expectOpen('without its place on the list');
    await closeUnwanted(space.store, 'main', inDays(8));
    await mendEvents(space.store, 'main');
    await expectNothing('no one wants them');
    await redis.sadd(keys().webhooks, 'wh_x');
    await mendEvents(space.store, 'main');
    await expectOpen('with a webhook');
  });

  it('are not made again for a workspace that is deleted while one of its streams is looked for', async () => {
    const mend = (store: Store) => mendEvents(store, 'shop');
    await openEvents(space.store, 'shop');
    for (const { name, place } of await gapsOf(space.store, mend)) {
      await createWorkspace(space.store, 'shop');
      await openEvents(space.store, 'shop');
      // Redis had lost it.
      await space.store.redis.del(shardKeys(space.store.space, 7).outbox('shop'));
      const remove = () => deleteWorkspace(space.store, 'shop', { logoutMs: 0, closingMs: 0 });
      await mend(at(place, remove));
      const { found } = await findWorkspace(space.store, 'shop', { withName: true });
      expect(found, `deleted before ${name} ${place}`).to.deep.equal({ keys: [], entries: [] });
    }
  });

  it('have all outboxes again when Redis has lost one', async () => {
    await openEvents(space.store, 'main');
    const [first] = outboxes();
    await space.store.redis.del(first!);
    await mendEvents(space.store, 'main');
    expect(await count(outboxes())).to.equal(SHARDS);
  });

  it('have a gap, once, where Redis lost an outbox: what came until it is there again was not told', async () => {
    await openEvents(space.store, 'main');
    expect(await toldGaps(), 'all is there').to.deep.equal([]);
    const [, lost] = outboxes();
    await space.store.redis.del(lost!);
    expect(await mendEvents(space.store, 'main')).to.equal(1);
    expect(await mendEvents(space.store, 'main')).to.equal(0);
    expect(await toldGaps()).to.deep.equal([{ missing: null }]);
  });

  it('have none where an outbox was never there: who opened them died, wherever, and others make the rest', async () => {
    const makers = [openEvents, mendEvents];
    const places = await gapsOf(space.store, (store) => openEvents(store, 'main'));
    for (const [i, { name, place }] of places.entries()) {
      await closeUnwanted(space.store, 'main', inDays(8));
      expect(await openEvents(at(place, killed), 'main').catch(({ message }: Error) => message)).to.equal('killed');
      await makers[i % 2]!(space.store, 'main');
      await openEvents(space.store, 'main');
      await expectOpen(`killed before ${name} ${place}`);
      expect(await toldGaps(), `killed before ${name} ${place}`).to.deep.equal([]);
    }
  });

  it('are dropped for room, the oldest first, and what is gone never comes back, however many processes do it', async () => {
    await openEvents(space.store, 'main');
    const { eventLog, eventMarks } = keys();
    for (let i = 0; i < 40; i++) {
      await addOptOuts(space.store, 'main', { numbers: [`4477009000${10 + i}`], source: 'api', atMs: Date.now() });
    }
    const gone = () => space.store.redis.hget(eventMarks, 'goneTo');
    // A process that has chosen what goes, and stands still until others have gone further.
    const slow = steppedStore(space.store, async ({ name }) => {
      if (name !== 'bound-log') return;
      for (let i = 0; i < 3; i++) expect(await boundLog(space.store, 'main', 1)).to.equal(true);
    });
    const ids = (await space.store.redis.xrange(eventLog, '-', '+')).map(([id]) => id);
    expect(await boundLog(slow, 'main', 1)).to.equal(false);
    const [oldest] = (await space.store.redis.xrange(eventLog, '-', '+', 'COUNT', 1))[0]!;
    expect(await gone()).to.equal(ids[ids.indexOf(oldest) - 1]);
  });
});

import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { makeWebhookSecret, schemeOf } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS, WEBHOOK_LIMITS, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import type { Store } from '@gateway/store/core/store';
import { EventBells, ringEventBell } from '@gateway/store/events/event-bells';
import { type TakenWebhook, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { surveyWebhooks } from '@gateway/store/webhooks/survey-webhooks';
import { forgetInAttempts, listAttempts, recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  pauseWebhook,
  readWebhook,
  resumeWebhook,
  rotateSecret,
} from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';

const URL = 'https://example.com/hook';
const HOUR_MS = 3_600_000;

describe('the webhooks of a workspace', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  const keys = (workspace = 'main') => workspaceKeys(space.store.space, workspace);
  const createActive = (workspace = 'main') => createActiveWebhook(space.store, URL, workspace);
  const create = async (workspace = 'main') => {
    const made = await createWebhook(space.store, workspace, {
      settings: DEFAULT_WEBHOOK_SETTINGS,
      target: { url: URL, headers: { 'x-shop': 'one' } },
      secrets: [{ secret: makeWebhookSecret('v1') }],
    });
    return made === 'full' ? made : made.id;
  };
  const read = async (id: WebhookId, workspace = 'main') => (await readWebhook(space.store, workspace, id))!;
  /** As deliveries leave it. */
  const set = (id: WebhookId, fields: object, workspace = 'main') =>
    space.store.redis.hset(keys(workspace).webhook(id), fields);
  const failingSince = (sinceMs: number) => ({ status: 'failing', breaker: JSON.stringify({ failures: 3, sinceMs }) });

  it('are unverified when they are made, sealed, and read as they were given', async () => {
    const id = (await create()) as WebhookId;
    const made = await read(id);
    expect(made).to.include({ id, status: 'unverified' });
    expect(made.target).to.deep.equal({ url: URL, headers: { 'x-shop': 'one' } });
    expect(made.settings).to.deep.equal(DEFAULT_WEBHOOK_SETTINGS);
    expect(made.createdAtMs).to.be.within(Date.now() - HOUR_MS, Date.now() + HOUR_MS);
    expect(made).not.to.have.any.keys('verifiedAtMs', 'failingSinceMs');
    const kept = JSON.stringify(await space.store.redis.hgetall(keys().webhook(id)));
    for (const secret of ['example.com', 'x-shop', made.secrets[0]!.secret]) expect(kept).not.to.include(secret);
    await set(id, failingSince(5));
    expect((await read(id)).failingSinceMs).to.equal(5);
  });

  it('have the default of a setting that came later than they', async () => {
    const id = (await create()) as WebhookId;
    await set(id, { settings: JSON.stringify({ description: 'old' }) });
    expect((await read(id)).settings).to.deep.equal({ ...DEFAULT_WEBHOOK_SETTINGS, description: 'old' });
  });

  it('are fifty at most in each, listed from the oldest on', async () => {
    const ids: string[] = [];
    for (let i = 0; i < WEBHOOK_LIMITS.maxPerWorkspace; i++) ids.push(await create());
    expect(await create()).to.equal('full');
    expect(await create('other'), 'of another workspace').not.to.equal('full');
    for (const [i, id] of ids.entries()) await set(id, { createdAtMs: 1_000 - i });
    const listed = await listWebhooks(space.store, 'main');
    expect(listed.map(({ id }) => id)).to.deep.equal(ids.reverse());
  });

  it('are not those of another workspace, nor anything that only looks like one', async () => {
    const id = (await create()) as WebhookId;
    for (const [workspace, wanted] of [
      ['other', id],
      ['main', `${id}:attempts`],
      ['main', 'wh_'],
    ] as const) {
      expect(await readWebhook(space.store, workspace, wanted)).to.equal(undefined);
      expect(await deleteWebhook(space.store, workspace, wanted)).to.equal(false);
      expect(await pauseWebhook(space.store, workspace, wanted)).to.equal(undefined);
    }
    expect(await read(id)).to.include({ status: 'unverified' });
  });

  it('must pass their test again at another place, and not for other settings', async () => {
    const id = await createActive();
    const before = await read(id);
    const changed = await changeWebhook(space.store, 'main', id, { settings: { description: 'shop' } });
    expect(changed).to.include({ status: 'active', verifiedAtMs: before.verifiedAtMs });
    expect(changed!.settings).to.deep.equal({ ...before.settings, description: 'shop' });
    expect(changed!.revision).not.to.equal(before.revision);
    await set(id, failingSince(5));
    const moved = (await changeWebhook(space.store, 'main', id, { target: { url: 'https://example.org/' } }))!;
    expect(moved).to.include({ status: 'unverified' });
    expect(moved).not.to.have.any.keys('verifiedAtMs', 'failingSinceMs');
    expect(moved.target).to.deep.equal({ url: 'https://example.org/', headers: {} });
    expect(moved.settings.description).to.equal('shop');
  });

  it('go on as they are when they are given the place or the headers that they have, also again and again', async () => {
    const id = await createActive();
    const target = { url: URL, headers: { 'x-shop': 'one', authorization: 'two' } };
    await changeWebhook(space.store, 'main', id, { target });
    await set(id, { ...failingSince(5), verifiedAtMs: 7 });
    const before = await read(id);
    const { authorization, ...others } = target.headers;
    for (const same of [{ url: URL }, target, { headers: { authorization, ...others } }]) {
      const changed = await changeWebhook(space.store, 'main', id, { target: same, settings: { description: '' } });
      expect(changed).to.deep.equal(before);
    }
    const described = await changeWebhook(space.store, 'main', id, { target, settings: { description: 'shop' } });
    expect(described).to.include({ status: 'failing', verifiedAtMs: 7, failingSinceMs: 5 });
    expect(described!.settings.description).to.equal('shop');
    for (const headers of [{}, { ...target.headers, authorization: 'three' }]) {
      await set(id, { ...failingSince(5), verifiedAtMs: 7 });
      const changed = (await changeWebhook(space.store, 'main', id, { target: { headers } }))!;
      expect(changed).to.include({ status: 'unverified' });
      expect(changed).not.to.have.any.keys('verifiedAtMs', 'failingSinceMs');
    }
  });

  it('stay paused at another place, and must then pass their test', async () => {
    const id = await createActive();
    await pauseWebhook(space.store, 'main', id);
    expect(await changeWebhook(space.store, 'main', id, { target: { headers: { a: 'b' } } })).to.include({
      status: 'paused',
    });
    expect(await resumeWebhook(space.store, 'main', id)).to.include({ status: 'unverified' });
  });

  it('go on where they were when they are resumed, their failures forgotten; others stay as they are', async () => {
    const id = await createActive();
    for (const status of ['paused', 'disabled']) {
      await set(id, { ...failingSince(5), status });
      const resumed = (await resumeWebhook(space.store, 'main', id))!;
      expect(resumed).to.include({ status: 'active' });
      expect(resumed).not.to.have.property('failingSinceMs');
    }
    await set(id, failingSince(5));
    const { revision } = await read(id);
    expect(await resumeWebhook(space.store, 'main', id)).to.include({ status: 'failing', revision });
  });

  it('say that something is done only when replicas have it, also if nothing was left to do', async () => {
    const id = await createActive();
    const attempt = { webhookId: 'evt_test', atMs: 1_000, tookMs: 5, status: 200, error: null, answer: '' };
    const { revision } = await read(id);
    const store: Store = {
      ...space.store,
      confirmWrites: async (key) => {
        expect(key).to.include('{main}');
        throw new Error('not confirmed');
      },
    };
    const deeds: Record<string, () => Promise<unknown>> = {
      pause: () => pauseWebhook(store, 'main', id),
      resume: () => resumeWebhook(store, 'main', id),
      change: () => changeWebhook(store, 'main', id, { target: { url: 'https://example.org/' } }),
      test: () => recordAttempt(store, 'main', id, { attempt, verifiesRevision: revision }),
      rotate: () => rotateSecret(store, 'main', id, { overlapHours: 1, nowMs: 1_000 }),
      replay: () => replayWebhook(store, { workspace: 'main', id }, { afterMs: 1, beforeMs: 2 }, 3),
      delete: () => deleteWebhook(store, 'main', id),
    };
    for (const [name, deed] of Object.entries(deeds)) {
      for (const time of ['first', 'once more']) {
        const outcome = await deed().then(String, (error: Error) => error.message);
        expect(outcome, `${name}, ${time}`).to.equal('not confirmed');
      }
    }
  });

  it('sign with the old secret beside the new one for a time, and with no older one', async () => {
    const id = await createActive();
    const [first] = (await read(id)).secrets;
    const once = (await rotateSecret(space.store, 'main', id, { overlapHours: 24, nowMs: 1_000 }))!;
    expect(once.secrets).to.have.length(2);
    expect(once.secrets[0]).to.have.all.keys('secret');
    expect(schemeOf(once.secrets[0]!.secret)).to.equal('v1');
    expect(once.secrets[1]).to.deep.equal({ secret: first!.secret, endsAtMs: 1_000 + 24 * HOUR_MS });
    const twice = (await rotateSecret(space.store, 'main', id, { overlapHours: 1, nowMs: 2_000 }))!;
    expect(twice.secrets.slice(1)).to.deep.equal([{ ...once.secrets[0], endsAtMs: 2_000 + HOUR_MS }]);
    const atOnce = (await rotateSecret(space.store, 'main', id, { overlapHours: 0, nowMs: 3_000 }))!;
    expect(atOnce.secrets).to.have.length(1);
  });

  it('take dozens of changes at the same time, one after the other', async () => {
    const id = await createActive();
    const changes = Array.from({ length: 30 }, (_, i) =>
      changeWebhook(space.store, 'main', id, { settings: { gatherSeconds: i + 1 } }),
    );
    const seen = await Promise.all(changes);
    expect(seen.map((each) => each!.settings.gatherSeconds)).to.deep.equal(changes.map((_, i) => i + 1));
  });

  it('are gone with all that waits for them', async () => {
    const id = await createActive();
    const { webhookParked, webhookParkedDue, webhookReplays, webhookAttempts } = keys();
    await space.store.redis.hset(webhookParked(id), 'someone', '{}');
    await space.store.redis.zadd(webhookParkedDue(id), 1, 'someone');
    await space.store.redis.rpush(webhookReplays(id), '{}');
    expect(await deleteWebhook(space.store, 'main', id)).to.equal(true);
    expect(await deleteWebhook(space.store, 'main', id), 'once more').to.equal(false);
    const left = [keys().webhook(id), webhookParked(id), webhookParkedDue(id), webhookReplays(id), webhookAttempts(id)];
    for (const key of left) expect(await space.store.redis.exists(key), key).to.equal(0);
    expect(await listWebhooks(space.store, 'main')).to.deep.equal([]);
  });

  it('tell their last attempts, the newest first, as they were', async () => {
    const [id, other] = [(await create()) as WebhookId, (await create()) as WebhookId];
    expect(await listAttempts(space.store, 'main', id, 10), 'before the first').to.deep.equal([]);
    const attempts = [3_000, 1_000, 2_000].map((atMs) => ({
      ...{ webhookId: `evt_${atMs}`, atMs, tookMs: 5, status: null, error: 'timeout', answer: '' },
    }));
    for (const attempt of attempts) await recordAttempt(space.store, 'main', id, { attempt });
    expect(await listAttempts(space.store, 'main', id, 2)).to.deep.equal([attempts[0], attempts[2]]);
    expect(await listAttempts(space.store, 'main', id, 10)).to.have.length(3);
    expect(await listAttempts(space.store, 'main', other, 10), 'of another').to.deep.equal([]);
    const kept = Object.values(await space.store.redis.hgetall(keys().webhookAttempts(id)));
    expect(kept.join(), 'sealed').not.to.include('evt_');
  });

  it('stay gone where one is deleted while a person is forgotten', async () => {
    const id = (await create()) as WebhookId;
    const { run } = space.store;
    const store: Store = {
      ...space.store,
      run: async (name, ...rest) => {
        if (name === 'forget-in-webhook') await deleteWebhook(space.store, 'main', id);
        return run(name, ...rest);
      },
    };
    await forgetInAttempts(store, 'main', new Set(['4915112345678']));
    expect(await space.store.redis.exists(keys().webhook(id))).to.equal(0);
  });

  it('tell none that was under way while a person was forgotten', async () => {
    const id = await createActive();
    const taken = await takeWebhook(space.store, { workspace: 'main', id }, { processId: 'p', sessionMs: 60_000 });
    const { forgotten } = taken as TakenWebhook;
    const attempt = { webhookId: 'evt_1', atMs: 1, tookMs: 5, status: 200, error: null, answer: '4915112345678' };
    const listed = async () =>
      (await listAttempts(space.store, 'main', id, 10)).filter(({ webhookId }) => webhookId === attempt.webhookId);
    await recordAttempt(space.store, 'main', id, { attempt, forgotten });
    expect(await listed()).to.have.length(1);
    await forgetInAttempts(space.store, 'main', new Set(['4915112345678']));
    await recordAttempt(space.store, 'main', id, { attempt, forgotten });
    expect(await listed()).to.deep.equal([]);
    await recordAttempt(space.store, 'main', id, { attempt });
    expect(await listed(), 'a test').to.have.length(1);
  });

  it('tell those first that came since the clock was set back', async () => {
    const id = (await create()) as WebhookId;
    const note = (atMs: number) =>
      recordAttempt(space.store, 'main', id, {
        attempt: { webhookId: `evt_${atMs}`, atMs, tookMs: 5, status: 200, error: null, answer: '' },
      });
    for (let i = 0; i < WEBHOOK_LIMITS.keptAttempts; i++) await note(1_000_000 + i);
    for (const atMs of [500_000, 500_001]) await note(atMs);
    const listed = await listAttempts(space.store, 'main', id, WEBHOOK_LIMITS.keptAttempts);
    expect(listed.slice(0, 3).map(({ atMs }) => atMs)).to.deep.equal([500_001, 500_000, 1_000_199]);
  });

  it('ring when one has passed its test, and not for any other attempt', async () => {
    const id = (await create()) as WebhookId;
    const heard: string[] = [];
    const bells = await EventBells.listen(space.clients.subscriber, space.store.space);
    bells.onAny((workspace) => heard.push(workspace));
    const attempt = { webhookId: 'evt_test', atMs: 1_000, tookMs: 5, status: 200, error: null, answer: '' };
    await recordAttempt(space.store, 'main', id, { attempt });
    expect((await read(id)).status).to.equal('unverified');
    const { revision } = await read(id);
    expect(await recordAttempt(space.store, 'main', id, { attempt, verifiesRevision: revision })).to.equal('active');
    await ringEventBell(space.store, 'last');
    // In any order: they may come by way of different nodes of a Cluster.
    await eventually(() => heard.includes('last') && heard.includes('main'), { everyMs: 1 });
    expect(heard.sort()).to.deep.equal(['last', 'main']);
  });

  it('keep no answer that names a person who is to be forgotten, nor one that cannot be read', async () => {
    const id = await createActive();
    const keep = (answer: string) => {
      const attempt = { webhookId: 'evt_1', atMs: Date.now(), tookMs: 1, status: 500, error: null, answer };
      return recordAttempt(space.store, 'main', id, { attempt });
    };
    for (const answer of [
      'unknown: +44 7700 900-001',
      '{"to":"447700900002"}',
      'by 99887766554433@lid',
      'no',
      '{"to":"4477009',
    ])
      await keep(answer);
    await space.store.redis.hset(keys().webhookAttempts(id), 'broken', 'x');
    const names = new Set(['447700900001', '99887766554433']);
    expect(await forgetInAttempts(space.store, 'other', names)).to.equal(0);
    expect(await forgetInAttempts(space.store, 'main', names), 'with what cannot be read').to.equal(4);
    expect(await forgetInAttempts(space.store, 'main', names)).to.equal(0);
    const left = (await listAttempts(space.store, 'main', id, 10)).map(({ answer }) => answer);
    expect(left.sort()).to.deep.equal(['', 'no', '{"to":"447700900002"}']);
  });

  it('are counted over all workspaces: by status, who is put aside, and since when what fails or waits does', async () => {
    const none = await surveyWebhooks(space.store);
    expect(none).to.deep.equal({
      byStatus: { unverified: 0, active: 0, failing: 0, paused: 0, disabled: 0 },
      parked: 0,
    });
    await create();
    const [late, aside] = [await createActive(), await createActive('other')];
    for (const [workspace, sinceMs] of [
      ['main', 900],
      ['other', 700],
    ] as const) {
      await set(await createActive(workspace), failingSince(sinceMs), workspace);
    }
    await set(await createActive(), { status: 'failing' });
    await set(await createActive(), { status: 'paused', 'lane:prompt': JSON.stringify({ cursor: '0-0' }) });
    await space.store.redis.zadd(keys().webhookParkedSince(late), 1, 'one', 2, 'two');
    await space.store.redis.zadd(keys('other').webhookParkedSince(aside), 3, 'three');
    const found = await surveyWebhooks(space.store);
    expect(found).to.deep.equal({
      byStatus: { unverified: 1, active: 2, failing: 3, paused: 1, disabled: 0 },
      ...{ parked: 3, failingSinceMs: 700 },
    });
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    const [entry] = (await space.store.redis.xrange(keys().eventLog, '-', '+'))[0]!;
    const [atMs] = entry.split('-').map(Number);
    const told = JSON.stringify({ cursor: entry });
    await set(late, { 'lane:prompt': told, 'lane:lists': told });
    expect(await surveyWebhooks(space.store), 'all was told').to.deep.equal(found);
    await set(late, { 'lane:lists': JSON.stringify({ cursor: '0-0' }) });
    expect(await surveyWebhooks(space.store)).to.deep.equal({ ...found, undeliveredSinceMs: atMs });
  });
});

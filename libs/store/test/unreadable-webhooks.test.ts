import { randomBytes } from 'node:crypto';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { createStore, type Store } from '@gateway/store/core/store';
import { UnknownKeyError } from '@gateway/store/core/vault';
import { readParkingKey } from '@gateway/store/webhooks/delivering/parked/parking-key';
import { surveyWebhooks } from '@gateway/store/webhooks/survey-webhooks';
import { listAttempts, recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { changeWebhook, deleteWebhook, findWebhook, listWebhooks, readWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';

const URL = 'https://example.com/hook';
const DAY_MS = 86_400_000;

describe('a webhook that is sealed with a key that is lost', () => {
  let space: RedisSpace;
  let lost: Store;
  let id: WebhookId;
  beforeEach(async () => {
    space = await openRedisSpace();
    const keyRings = { credentials: [], contents: [{ id: 'lost', key: randomBytes(32) }] };
    lost = createStore({ redis: space.store.redis, space: space.store.space, keyRings });
    id = await createActiveWebhook(lost, URL);
  });
  afterEach(() => space.close());
  const keys = () => workspaceKeys(space.store.space, 'main');

  it('is listed with what is known of it, beside others, and can be deleted', async () => {
    const other = await createActiveWebhook(space.store, URL);
    const listed = await listWebhooks(space.store, 'main');
    expect(listed.map(({ id, target }) => [id, target?.url])).to.have.deep.members([
      [id, undefined],
      [other, URL],
    ]);
    expect(await findWebhook(space.store, 'main', id)).to.deep.include({ id, status: 'active' });
    expect(await readWebhook(space.store, 'main', id).catch((thrown) => thrown)).to.be.instanceOf(UnknownKeyError);
    expect(await deleteWebhook(space.store, 'main', id)).to.equal(true);
    expect((await listWebhooks(space.store, 'main')).map((each) => each.id)).to.deep.equal([other]);
    expect(await findWebhook(space.store, 'main', id)).to.equal(undefined);
  });

  it('leaves out of its requests those that cannot be opened', async () => {
    const attempt = { webhookId: 'evt_1', atMs: Date.now(), tookMs: 1, status: 200, error: null, answer: 'ok' };
    await recordAttempt(space.store, 'main', id, { attempt });
    expect(await listAttempts(lost, 'main', id, 9).then(({ length }) => length)).to.equal(1);
    expect(await listAttempts(space.store, 'main', id, 9)).to.deep.equal([attempt]);
  });

  it('is counted with what it was not told, from when it was made on', async () => {
    expect(await surveyWebhooks(space.store)).to.not.have.property('undeliveredSinceMs');
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    const [entry] = (await space.store.redis.xrange(keys().eventLog, '-', '+'))[0]!;
    const { undeliveredSinceMs } = await surveyWebhooks(space.store);
    expect(undeliveredSinceMs).to.equal(Number(entry.split('-')[0]));
    // The version before wrote no place in the log for one that was never told anything.
    await space.store.redis.hdel(keys().webhook(id), 'lane:prompt', 'lane:lists');
    expect(await surveyWebhooks(space.store)).to.deep.include({ undeliveredSinceMs });
    await space.store.redis.hset(keys().webhook(id), 'createdAtMs', Date.now() + DAY_MS);
    expect(await surveyWebhooks(space.store)).to.not.have.property('undeliveredSinceMs');
  });

  it('leaves its parking key to no other', async () => {
    const other = await createActiveWebhook(space.store, URL);
    const { parkingKey } = (await readWebhook(space.store, 'main', other))!;
    expect(parkingKey).to.have.length(32);
    expect(parkingKey).to.not.deep.equal((await readWebhook(lost, 'main', id))!.parkingKey);
    const target = { url: 'https://example.org/' };
    const moved = (await changeWebhook(space.store, 'main', other, { target }))!;
    expect(moved.parkingKey, 'it stays').to.deep.equal(parkingKey);
    expect(moved.target).to.deep.equal({ ...target, headers: {} });
  });

  it('has that of its workspace, as those that the version before has made', async () => {
    expect((await readWebhook(lost, 'main', id))!.parkingKey).to.deep.equal(await readParkingKey(lost, 'main', id));
    await space.store.redis.del(keys().parkingKey);
    const made = await readParkingKey(space.store, 'main', id);
    expect(await readParkingKey(space.store, 'main', id)).to.deep.equal(made);
    expect(await readParkingKey(space.store, 'main', 'wh_gone'), 'none is kept for it').to.have.length(32);
    const before = { target: { url: URL, headers: {} } };
    const place = `${keys().webhook(id)}/target`;
    await lost.redis.hset(
      keys().webhook(id),
      'target',
      lost.vault.seal(JSON.stringify(before.target), 'webhook', place),
    );
    expect(await readWebhook(lost, 'main', id))
      .to.deep.include(before)
      .and.not.have.property('parkingKey');
  });
});

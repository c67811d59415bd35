import { randomBytes } from 'node:crypto';
import type { ChangeData } from '@gateway/contracts/events/events';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { createStore } from '@gateway/store/core/store';
import { sealIdKey } from '@gateway/store/devices/devices';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const HOUR_MS = 3_600_000;
const PEOPLE = ['4915112345600', '4915112345601', '4915112345602'];

describe('a webhook, when the key of platform ids of a device is lost', () => {
  const { space, address, stage, create, accept, record, useDevice } = useLoggedEndpoint();
  const deviceKey = () => deviceKeys(space, address).device;

  async function loseKey(): Promise<Buffer> {
    const kept = (await space.store.redis.hgetBuffer(deviceKey(), 'idKey'))!;
    const keyRings = { credentials: [], contents: [{ id: 'lost', key: randomBytes(32) }] };
    const elsewhere = createStore({ redis: space.store.redis, space: space.store.space, keyRings });
    await space.store.redis.hset(deviceKey(), 'idKey', sealIdKey(elsewhere, address));
    return kept;
  }
  /** One that was made a while ago. */
  async function createEarly(types: string[]) {
    const tell = await create({ types });
    await space.store.redis.hset(
      workspaceKeys(space, 'main').webhook(tell.id),
      'createdAtMs',
      Date.now() - 9 * HOUR_MS,
    );
    return tell;
  }
  const told = () => {
    const rows = stage.events.flatMap(({ type, data }) =>
      type === 'messages.updated' ? (data.changes as ChangeData[]) : type.startsWith('message.') ? [data as never] : [],
    ) as ChangeData[];
    return rows.map(({ device, index, status }) => `${device} ${index} ${status}`);
  };
  const missing = () =>
    stage.events.flatMap(({ type, data }) =>
      type === 'events.gap' && data.missing !== null ? Number(data.missing) : [],
    );

  it('is told of other devices, and of that one an hour later, in order', async () => {
    const tell = await createEarly(['message.sent', 'message.delivered']);
    const other = await useDevice('b');
    stage.aheadMs = -HOUR_MS;
    await record(await accept(PEOPLE.slice(0, 1)), 'acked', 0, 1);
    stage.aheadMs = 0;
    const ofOther = await other.accept(PEOPLE.slice(0, 1));
    for (const event of ['acked', 'delivered'] as const) await other.record(ofOther, event, 0, 1);
    await loseKey();
    await tell();
    expect(told()).to.deep.equal(['a 0 sent', 'b 0 sent', 'b 0 delivered']);
    expect(missing()).to.deep.equal([]);
  });

  for (const types of [['message.sent'], ['messages.updated']]) {
    it(`is told that what was put aside under another id is missing: ${types}`, async () => {
      const tell = await createEarly(types);
      await putAside(tell);
      await loseKey();
      await tell();
      expect(told()).to.have.members(['a 1 sent', 'a 2 sent']);
      expect(missing()).to.deep.equal([1]);
      expect(stage.gaps.at(-1)).to.equal('parked');
    });

    it(`is told what was put aside without the key once that is there again: ${types}`, async () => {
      const tell = await createEarly(types);
      const kept = await loseKey();
      await putAside(tell);
      await space.store.redis.hset(deviceKey(), 'idKey', kept);
      await tell();
      expect(told()).to.have.members(['a 0 sent', 'a 1 sent', 'a 2 sent']);
      expect(missing()).to.deep.equal([]);
    });
  }

  it('is not told that what it does not ask for any more is missing', async () => {
    const tell = await createEarly(['message.sent']);
    await putAside(tell);
    await changeWebhook(space.store, 'main', tell.id, { settings: { types: ['send.finished'] } });
    await tell();
    expect(told()).to.have.members(['a 1 sent', 'a 2 sent']);
    expect(missing()).to.deep.equal([]);
  });

  /** One of three changes; the others are told. */
  async function putAside(tell: () => Promise<string>): Promise<void> {
    stage.aheadMs = -4 * HOUR_MS;
    stage.refuses = ({ data: { to, changes = [{ to }] } }) =>
      (changes as ChangeData[]).some((row) => row.to === PEOPLE[0]);
    await record(await accept(PEOPLE), 'acked', 0, 3);
    for (let minute = 0; minute < 10; minute++) {
      stage.aheadMs += 60_000;
      await tell();
    }
    expect(told()).to.have.members(['a 1 sent', 'a 2 sent']);
    stage.refuses = () => false;
    stage.aheadMs = 0;
  }
});

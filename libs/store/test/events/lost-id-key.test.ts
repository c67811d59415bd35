import { randomBytes } from 'node:crypto';
import { type ChangeData, EVENT_TYPES } from '@gateway/contracts/events/events';
import { type DeviceAddress, parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { createStore } from '@gateway/store/core/store';
import { UnknownKeyError } from '@gateway/store/core/vault';
import { ensureDevice, sealIdKey } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import { findEvent } from '@gateway/store/events/reading/find-event';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { readTold } from '../support/read-told.js';
import { useOwnedDevice } from '../support/use-owned-device.js';

const PEOPLE = ['4915112345600', '4915112345601'];
const HOUR_MS = 3_600_000;

describe('the events of a device whose key of platform ids is lost', () => {
  const { address, space, ownership } = useOwnedDevice();
  beforeEach(() => openEvents(space.store, 'main'));

  async function happen(of: DeviceAddress, owner = ownership, agoMs = 0): Promise<string> {
    const nowMs = Date.now() - agoMs;
    const { messageId } = await acceptSend(space.store, of, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: PEOPLE, owner: 't' },
      ...{ requestId: 'order-1', nowMs, expiresAtMs: Date.now() + 60_000 },
    });
    const { tag } = parseMessageId(messageId)!;
    const events = PEOPLE.map((_, recipient) => ({ recipient, part: 0, event: 'acked' as const }));
    await recordResults(space.store, owner, { tag, nowMs, events });
    return messageId;
  }
  async function loseKey(): Promise<void> {
    const keyRings = { credentials: [], contents: [{ id: 'lost', key: randomBytes(32) }] };
    const elsewhere = createStore({ redis: space.store.redis, space: space.store.space, keyRings });
    await space.store.redis.hset(deviceKeys(space, address).device, 'idKey', sealIdKey(elsewhere, address));
  }

  it('are told an hour later without ids of the network, and hold up those of no other device', async () => {
    const other = { ...address, device: 'b' };
    await ensureDevice(space.store, other);
    const owner = (await takeDevice(space.store, other, { owner: 'a', ttlMs: 60_000 }))!;
    const of = { lost: await happen(address, ownership, HOUR_MS), kept: await happen(other, owner) };
    await loseKey();
    const types = ['messages.updated'];
    const told = (await readTold(space.store, { types })).flatMap(({ data }) => data.changes as ChangeData[]);
    const shown = told.map(({ messageId, index, to, platformMessageIds: { length } }) => {
      return [messageId, index, to, length];
    });
    expect(shown).to.have.deep.members([
      [of.lost, 0, PEOPLE[0], 0],
      [of.lost, 1, PEOPLE[1], 0],
      [of.kept, 0, PEOPLE[0], 1],
      [of.kept, 1, PEOPLE[1], 1],
    ]);
    expect(new Set(told.map(({ id }) => id)).size, 'each has an id of its own').to.equal(4);
  });

  it('wait for the key until then', async () => {
    await happen(address, ownership, HOUR_MS - 60_000);
    await loseKey();
    expect(await readTold(space.store).catch((thrown: unknown) => thrown)).to.be.instanceOf(UnknownKeyError);
  });

  it('are found under the ids that they are told with', async () => {
    await happen(address, ownership, HOUR_MS);
    await loseKey();
    const events = await readTold(space.store, { types: EVENT_TYPES.filter((type) => type !== 'messages.updated') });
    expect(events.map(({ type }) => type)).to.deep.equal(['message.sent', 'message.sent', 'send.finished']);
    for (const event of events) {
      expect(await findEvent(space.store, 'main', event.id)).to.deep.equal(event);
      expect(await findEvent(space.store, 'main', event.id, { devices: ['b'] }), 'of another').to.equal(undefined);
    }
    expect(await findEvent(space.store, 'main', events[0]!.id.replace('_sent', '_read'))).to.equal(undefined);
  });
});

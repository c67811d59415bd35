import { randomBytes } from 'node:crypto';
import type { ChangeData } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { createStore } from '@gateway/store/core/store';
import { readParkingKey } from '@gateway/store/webhooks/delivering/parked/parking-key';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = ['4915112345600', '4915112345601'];

describe('webhooks of a workspace, when a key of contents is lost', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();
  const keys = () => workspaceKeys(space, 'main');
  const storeOfLostKey = () => {
    const keyRings = { credentials: [], contents: [{ id: 'lost', key: randomBytes(32) }] };
    return createStore({ redis: space.store.redis, space: space.store.space, keyRings });
  };
  /** An endpoint that is told with a key of its workspace, both sealed with the key that is lost. */
  const createLost = async () => {
    const store = storeOfLostKey();
    await readParkingKey(store, 'main', await createActiveWebhook(store, 'https://example.com/hook'));
  };
  const types = ['message.sent', 'message.delivered'];
  const told = () =>
    stage.events.flatMap(({ type, data }) => {
      const { index, status } = data as unknown as ChangeData;
      return type === 'events.gap' ? 'gap' : `${index} ${status}`;
    });

  it('are told what happens where they were made later, whatever the one before was sealed with', async () => {
    await createLost();
    const tell = await create({ types });
    await record(await accept(PEOPLE), 'acked', 0, 2);
    await tell();
    expect(told()).to.have.members(['0 sent', '1 sent']);
  });

  it('keep the order of each recipient where they can still be opened, also of what was put aside before', async () => {
    const tell = await create({ types });
    stage.refuses = ({ data }) => (data as unknown as ChangeData).index === 0;
    const tag = await accept(PEOPLE);
    await record(tag, 'acked', 0, 2);
    for (let minute = 0; minute < 5; minute++) {
      await tell();
      stage.aheadMs += 60_000;
    }
    expect(told()).to.deep.equal(['1 sent']);
    // As if it had been sealed with the lost key, and another process went on.
    await space.store.redis.del(keys().parkingKey);
    await createLost();
    delete tell.memory.parkingKey;
    stage.refuses = () => false;
    await record(tag, 'delivered', 0, 2);
    for (let minute = 0; minute < 5; minute++) {
      await tell();
      stage.aheadMs += 3_600_000;
    }
    const of = (index: number) => told().filter((each) => each.startsWith(String(index)));
    expect(of(0)).to.deep.equal(['0 sent', '0 delivered']);
    expect(of(1)).to.deep.equal(['1 sent', '1 delivered']);
    expect(told()).to.not.include('gap');
  });

  it('keep it when they are told by a process that takes another key of the workspace', async () => {
    const tell = await create({ types });
    const before = await space.store.redis.getBuffer(keys().parkingKey);
    await create({ types });
    expect(await space.store.redis.getBuffer(keys().parkingKey), 'it stays').to.deep.equal(before);
    await record(await accept(PEOPLE), 'acked', 0, 2);
    await tell();
    expect(tell.memory.parkingKey).to.deep.equal(space.store.vault.open(before!, 'parkingKey', keys().parkingKey));
  });
});

import { DEFAULT_WORKSPACE } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import type { RedisSpace } from '@gateway/testkit/redis-space';

const AT_A_TIME = 200;

/** Writes so many devices as they are after their linking. Their keys are for sessions that read none. */
export async function writeLinkedDevices({ store }: RedisSpace, count: number): Promise<void> {
  const left = Array.from({ length: count }, (_, i) => ({
    workspace: DEFAULT_WORKSPACE,
    device: `fleet-${i}`,
  })).values();
  const writeInTurn = async () => {
    for (const address of left) {
      const { desired, creds } = deviceKeys(store.space, address);
      await ensureDevice(store, address);
      await requestLink(store, address, { attemptId: 'fleet', method: 'qrCode', forceNew: false });
      await Promise.all([store.redis.set(creds, 'none'), store.redis.hset(desired, 'want', 'linked')]);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, writeInTurn));
}

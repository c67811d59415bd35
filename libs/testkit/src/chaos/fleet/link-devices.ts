import { sleep } from '@gateway/runtime/clock';
import type { Simulator } from '@gateway/simulator/start-simulator';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import PQueue from 'p-queue';
import { codeAfter } from '../../gateway.js';
import { scanCodes } from '../../scan-codes.js';
import { callUntilAnswered } from '../client.js';
import type { Progress } from '../progress.js';
import type { Line } from '../take-account.js';

const AT_A_TIME = 16;
const LOOK_MS = 500;

interface World {
  store: Store;
  simulator: Simulator;
  bases: string[];
  progress: Progress;
}

/** Links devices to accounts of their own, and waits until all are connected. */
export async function linkDevices(world: World, count: number): Promise<Line[]> {
  const { progress } = world;
  const lines: Line[] = [];
  let linked = 0;
  progress.enter('devices are linked', () => `${linked} of ${count}`);
  const linking = new PQueue({ concurrency: AT_A_TIME });
  const link = (i: number) => async () => {
    lines[i] = await linkDevice(world, i);
    linked++;
  };
  await linking.addAll(Array.from({ length: count }, (_, i) => link(i)));
  let waiting: unknown[] = lines;
  progress.enter('devices connect', () => `${waiting.length} do not, such as ${JSON.stringify(waiting.slice(0, 3))}`);
  for (;;) {
    waiting = await findUnconnected(world.store, lines);
    if (waiting.length === 0) return lines;
    await sleep(LOOK_MS);
  }
}

async function linkDevice({ store, simulator, bases }: World, i: number): Promise<Line> {
  const device = `chaos-${i}`;
  const number = String(491_600_000_000 + i);
  const { value: token } = await createApiToken(store, 'main', { name: device, device });
  const answer = await callUntilAnswered(bases, '/connect?rawQrCode=true', { token, body: {} });
  const address = { workspace: 'main', device };
  const nextCode = (before: string) => codeAfter(store, address, before);
  // Half of the accounts write by hidden identifier, and half by number.
  const addressing = i % 2 === 0 ? 'lid' : 'pn';
  await scanCodes({ adminUrl: simulator.adminUrl, number, addressing, nextCode }, String(answer.body.qrCode));
  return { address, number, token };
}

async function findUnconnected(store: Store, lines: readonly Line[]): Promise<unknown[]> {
  const states = await Promise.all(
    lines.map(async ({ address }) => {
      const { desired, observed, isOwned } = await readDeviceState(store, address);
      return { ...address, want: desired?.want, status: observed?.status, reason: observed?.reason, isOwned };
    }),
  );
  return states.filter(({ status }) => status !== 'connected');
}

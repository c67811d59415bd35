import { type DeviceAddress, makeAttemptId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { systemClock } from '@gateway/runtime/clock';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { readDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { readDeviceState, recordObserved, requestUnlink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { deviceKeyStore, retireKeys } from '@gateway/store/devices/keys/device-keys';
import { takeAccount } from '@gateway/store/devices/take-account';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { requireProof } from '@gateway/store/workspace/tokens/api-tokens';
import { type CliContext, proofOf } from '../cli-context.js';
import { type AuthFolder, readAuthFolder } from './auth-folder.js';
import { withDevice } from './take-device.js';

/** Longer than a dead process can hold an ownership. */
const TAKE_MS = 12_000;
const POLL_MS = 250;
const KEYS_PER_COMMIT = 500;

/**
 * `device import`: takes a session over. Refused for a linked device unless forced; then its account is logged out first.
 * Safe to repeat after a failure: an unfinished import leaves a device that is not linked.
 */
export async function importDevice(
  context: CliContext,
  folder: string,
  { device, force = false }: { device?: string; force?: boolean },
): Promise<void> {
  const { store, workspace, output, record } = context;
  const session = await readAuthFolder(folder);
  const address = { workspace, device: device ?? (await readDefaultDevice(store, workspace)) };
  const { keyId } = await proofOf(context);
  await ensureDevice(store, address, { keyId });
  await makeRoom(store, address, { force, keyId });
  const taken = await withDevice(context, address, { waitMs: TAKE_MS }, async (ownership) => {
    // What is written as its owner is refused once the workspace is gone; the device that was taken may be that of the next one.
    await requireProof(store, workspace, keyId);
    await writeSession(store, ownership, session);
  });
  if (!taken) throw new Error(`device ${address.device} is in use by another process: try again`);
  await ringDoorbell(store, { topic: 'desired', ...address });
  await record('device.imported', address.device);
  output.show({ device: address.device, phone: session.phone, keys: session.keys.length });
  if (session.ignored.length > 0)
    output.note(`\n${session.ignored.length} files do not belong to a session and were ignored`);
  output.note(
    '\nThe gateway connects as soon as a sender runs. Do not use the folder with another program any more: two clients with' +
      '\nthe same keys disconnect each other, and the keys in the folder are out of date after the first message.',
  );
}

/** Refuses a device that has an account; with `force` logs it out. */
async function makeRoom(
  store: Store,
  address: DeviceAddress,
  { force, keyId }: { force: boolean; keyId: string },
): Promise<void> {
  const { desired, hasKeys } = await readDeviceState(store, address);
  if (desired?.want !== 'linked' && desired?.want !== 'linking' && !hasKeys) return;
  if (!force) {
    throw new Error(`device ${address.device} is linked, or being linked; --force logs that account out first`);
  }
  const { attemptId } = await requestUnlink(store, address, { attemptId: makeAttemptId(), keyId });
  await ringDoorbell(store, { topic: 'desired', ...address });
  const deadlineMs = systemClock.monotonicMs() + LIMITS.disconnectWaitSeconds * 1000;
  // If no process runs that could log it out, its keys are replaced anyway.
  while (systemClock.monotonicMs() < deadlineMs) {
    const { observed } = await readDeviceState(store, address);
    if (observed?.attemptId === attemptId && observed.logout) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/**
 * The order makes a crash harmless at every line: without credentials the device is not linked, whatever keys exist, and
 * once they exist the device is already wanted, so no process takes them for leftovers to log out.
 */
async function writeSession(store: Store, ownership: Ownership, session: AuthFolder): Promise<void> {
  const { address } = ownership;
  const keyStore = deviceKeyStore(store, ownership);
  await retireKeys(store, ownership, { quarantine: false });
  for (let from = 0; from < session.keys.length; from += KEYS_PER_COMMIT) {
    await keyStore.commit({ keys: session.keys.slice(from, from + KEYS_PER_COMMIT) });
  }
  await keyStore.commit({ contacts: session.contacts });
  await takeAccount(store, ownership, { phone: session.phone, nowMs: systemClock.nowMs() });
  const { desired } = await readDeviceState(store, address);
  const observed = { status: 'connecting', reason: 'restoring', phone: session.phone } as const;
  const outcome = await recordObserved(store, ownership, { actedOn: desired, observed, want: 'linked' });
  if (outcome === 'moved') throw new Error('the device is being linked or unlinked by another process: try again');
  await keyStore.commit({ creds: session.creds });
}

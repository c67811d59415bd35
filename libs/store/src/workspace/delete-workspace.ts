import { type DeviceAddress, makeAttemptId, nameOfDevice, type Workspace } from '@gateway/contracts/ids';
import { isPermanent, partsOfWorkspace } from '@gateway/contracts/keys-of-workspace';
import { deletedWorkspacesKey, passingTokensKey, tokenIndexKeys, workspacesKey } from '@gateway/contracts/redis-keys';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { scanKeys, scanSlot } from '@gateway/runtime/redis/scan-keys';
import { confirmEverywhere, connectToAll } from '../core/confirming/confirm-everywhere.js';
import { ringDoorbell } from '../core/doorbells.js';
import { entriesOf, removeEntries } from '../core/shared-entries.js';
import { type Store, writeAlways } from '../core/store.js';
import { readDeviceState, requestUnlink } from '../devices/device-state.js';
import { listAllDevices } from '../devices/devices.js';
import { cancelSend } from '../sends/change-send.js';
import { listOpenSends } from '../sends/open-sends.js';
import { forgetWorkspacesOfTokens } from './tokens/token-index.js';
import { isOfQueue, isWakeUpOf, removeJobEvents, removeWakeUp } from './wake-ups.js';

/** What became of a workspace. */
export interface Deletion {
  devices: number;
  /** Those whose account could not be logged out in time: their phones still show the link. */
  notLoggedOut: string[];
  /** Keys that were deleted, and entries of keys that workspaces share. */
  deleted: { keys: number; entries: number };
  /** The scan afterwards, over all nodes with data. */
  proof: WorkspaceScan;
}

/** What a scan looked at, and what it found of a workspace. */
export interface WorkspaceScan {
  nodes: number;
  keysLookedAt: number;
  entriesLookedAt: number;
  found: { keys: string[]; entries: { key: string; entry: string }[] };
}

/** For as long as the API may know a token that is gone, and an answer of Redis may be on its way. */
const CLOSING_MS = 1_500;
const LOOK_EVERY_MS = 250;
const LOGOUT_MS = 60_000;
const MOST_SWEEPS = 20;
const KEYS_AT_ONCE = 500;

/**
 * Deletes a workspace with all that belongs to it, while all runs. In this order: its tokens stop working, its accounts are logged
 * out by the processes that own them, its keys and its entries elsewhere are deleted until a scan over all nodes with data finds
 * nothing, and only then its name is free again. Safe to repeat: what broke off goes on.
 * @param options.logoutMs how long to wait for the processes. @param options.closingMs until no process knows its tokens. Throws for `default`, and when something goes on writing,
 * when another run was faster, `not_confirmed` when replicas do not have the deletion, and `redis_away` when a scan may have missed keys. The name stays taken as long as a
 * scan finds something, or may have missed it.
 */
export async function deleteWorkspace(
  store: Store,
  workspace: Workspace,
  { logoutMs = LOGOUT_MS, closingMs = CLOSING_MS }: { logoutMs?: number; closingMs?: number } = {},
): Promise<Deletion> {
  if (isPermanent(workspace)) throw new Error(`workspace ${workspace} cannot be deleted`);
  const { redis, space } = store;
  await writeAlways(store, 'SADD', deletedWorkspacesKey(space), workspace);
  const madeAt = await redis.hget(workspacesKey(space), workspace);
  // Another run may have come to its end, and what has the name now is the next workspace.
  const requireSame = async () => {
    const [isClosed, madeNow] = await Promise.all([
      redis.sismember(deletedWorkspacesKey(space), workspace),
      redis.hget(workspacesKey(space), workspace),
    ]);
    if (isClosed === 0 || (madeNow !== null && madeNow !== madeAt))
      throw new Error(`workspace ${workspace} has been deleted by another run`);
  };
  await forgetTokens(store, workspace);
  await sleep(closingMs);
  await requireSame();
  const devices = (await listAllDevices(store)).filter((address) => address.workspace === workspace);
  const notLoggedOut = await logOut(store, devices, logoutMs);
  await requireSame();
  await cancelOpenSends(store, devices);
  const deleted = { keys: 0, entries: 0 };
  let emptySweeps = 0;
  for (let sweep = 0; emptySweeps < 2; sweep++) {
    if (sweep === MOST_SWEEPS) throw new Error(`workspace ${workspace} is still written to: delete it again`);
    // What a failover takes back before replicas know of it is found by the sweep after this, and after this none does.
    if (emptySweeps === 1) await confirmEverywhere(store);
    const { found } = await findWorkspace(store, workspace);
    emptySweeps = found.keys.length + found.entries.length === 0 ? emptySweeps + 1 : 0;
    await requireSame();
    await Promise.all(found.keys.map((key) => redis.unlink(key)));
    await removeShared(store, found.entries);
    // Owners that are still there look, and find nothing.
    for (const address of sweep === 0 ? devices : []) await ringDoorbell(store, { topic: 'desired', ...address });
    deleted.keys += found.keys.length;
    deleted.entries += found.entries.length;
    if (emptySweeps < 2) await sleep(LOOK_EVERY_MS);
  }
  await removeJobEvents(store);
  // While the name is taken: else what the next workspace of it has would be found.
  const proof = await findWorkspace(store, workspace);
  const since = await connectToAll(store);
  if (proof.found.keys.length + proof.found.entries.length === 0) {
    await requireSame();
    await redis.hdel(workspacesKey(space), workspace);
    await redis.srem(deletedWorkspacesKey(space), workspace);
  }
  await confirmEverywhere(store, since);
  return { devices: devices.length, notLoggedOut, deleted, proof };
}

/** All that is there of a workspace, on every node with data; throws when it may have missed some (`scanKeys`). @param withName its own name in the list of workspaces, too. */
export async function findWorkspace(
  store: Store,
  workspace: Workspace,
  { withName = false } = {},
): Promise<WorkspaceScan> {
  const { redis, space } = store;
  const partOf = partsOfWorkspace(space, workspace);
  const names = withName ? [] : [workspacesKey(space), deletedWorkspacesKey(space)];
  const keys = new Set<string>();
  const shared = new Map<string, (part: string) => boolean>();
  const jobs: string[] = [];
  const scan: WorkspaceScan = {
    ...{ nodes: masterNodes(redis).length, keysLookedAt: 0, entriesLookedAt: 0 },
    found: { keys: [], entries: [] },
  };
  for await (const page of scanKeys(redis, { match: `${space.prefix}:*`, count: KEYS_AT_ONCE })) {
    scan.keysLookedAt += page.length;
    for (const key of page) {
      if (isOfQueue(space, key)) jobs.push(key);
      const part = partOf(key);
      if (part === 'whole') keys.add(key);
      if (part === 'places') shared.set(key, (text) => text.startsWith(`${workspace}/`));
      if (part === 'names' && !names.includes(key)) shared.set(key, (text) => text === workspace);
    }
  }
  scan.found.keys = [...keys];
  for (const [key, isOurs] of shared) {
    for await (const { entry, parts } of entriesOf(store, key)) {
      scan.entriesLookedAt++;
      if (parts.some(isOurs)) scan.found.entries.push({ key, entry });
    }
  }
  scan.entriesLookedAt += jobs.length;
  for (const key of jobs) if (await isWakeUpOf(store, workspace, key)) scan.found.entries.push({ key, entry: 'data' });
  return scan;
}

/** So that what is queued leaves the totals of the installation, which stay. */
async function cancelOpenSends(store: Store, devices: readonly DeviceAddress[]): Promise<void> {
  const unconfirmed = { ...store, confirmWrites: async () => {} };
  for (const address of devices) {
    // What cannot be cancelled, as another version wrote it, is deleted as it is.
    for (const messageId of await listOpenSends(store, address))
      await cancelSend(unconfirmed, address, messageId).catch(() => {});
  }
}

async function removeShared(store: Store, found: WorkspaceScan['found']['entries']): Promise<void> {
  const isWakeUp = ({ key }: { key: string }) => isOfQueue(store.space, key);
  await Promise.all(found.filter(isWakeUp).map(({ key }) => removeWakeUp(store, key)));
  await removeEntries(
    store,
    found.filter((entry) => !isWakeUp(entry)),
  );
}

/** Also those that are in no list. */
async function forgetTokens(store: Store, workspace: Workspace): Promise<void> {
  const { redis, space } = store;
  const found = await Promise.all(tokenIndexKeys(space).map((key) => redis.hgetall(key)));
  const index = Object.assign({}, ...found) as Record<string, Workspace>;
  const keyIds = Object.keys(index).filter((keyId) => index[keyId] === workspace);
  if (keyIds.length > 0) await redis.zrem(passingTokensKey(space), ...keyIds);
  const match = `${space.prefix}:{${workspace}}:token*`;
  for await (const keys of scanSlot(redis, match, { match, count: KEYS_AT_ONCE }))
    await Promise.all(keys.map((key) => redis.unlink(key)));
  // Last: a run that broke off finds them again.
  await forgetWorkspacesOfTokens(store, keyIds);
}

/** Asks for the logout of every account, and waits. Answers the devices that still have one. */
async function logOut(store: Store, devices: readonly DeviceAddress[], logoutMs: number): Promise<string[]> {
  for (const address of devices) {
    await requestUnlink(store, address, { attemptId: makeAttemptId() });
    await ringDoorbell(store, { topic: 'desired', ...address });
  }
  const untilMs = systemClock.monotonicMs() + logoutMs;
  let left = devices;
  for (;;) {
    const states = await Promise.all(left.map((address) => readDeviceState(store, address)));
    left = left.filter((_, i) => states[i]!.hasKeys || states[i]!.isOwned);
    if (left.length === 0 || systemClock.monotonicMs() >= untilMs) break;
    await sleep(LOOK_EVERY_MS);
  }
  const states = await Promise.all(left.map((address) => readDeviceState(store, address)));
  return left.filter((_, i) => states[i]!.hasKeys).map(nameOfDevice);
}

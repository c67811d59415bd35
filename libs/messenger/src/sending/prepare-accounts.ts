import { type BundleDeps, fetchBundles, type Wanted } from '../keys/fetch-bundles.js';
import type { UserDevice } from '../lookup/read-users.js';
import type { Account } from '../lookup/resolve-numbers.js';
import type { SessionCaches } from '../lookup/session-caches.js';
import { type BaileysSocket, type FullJid, jidDecode, jidEncode, jidNormalizedUser } from '../socket/baileys.js';

/** An account that messages can be sent to: its devices with a session. `isPartial`: further devices need another query. */
export type Prepared = { devices: FullJid[]; isPartial: boolean } | { error: number };

/** Sessions looked at in one go: some ms for a hundred. */
const LOOKED_AT_PER_TURN = 20;

export interface PrepareDeps extends BundleDeps {
  caches: SessionCaches;
}

interface Target {
  account: Account;
  /** `jid` is the one whose Signal address the session has. */
  devices: (Wanted & { device: UserDevice })[];
}

/**
 * Makes the Signal sessions that are missing, for many accounts at once, and reads what sends will need into the cache.
 * A linked device without keys is left out, as the network's own clients do; without the phone itself, or when the
 * network was only busy, the account has an error.
 */
export async function prepareAccounts(deps: PrepareDeps, accounts: readonly Account[]): Promise<Prepared[]> {
  const { sock, giveWay } = deps;
  const { keys } = sock.authState;
  const { lidMapping, jidToSignalProtocolAddress } = sock.signalRepository;
  // The mapping first: sessions live under the LID from here on, and the library finds them through it.
  await lidMapping.storeLIDPNMappings(accounts.flatMap(({ jid, lid }) => (lid ? [{ lid, pn: jid }] : [])));
  await rememberLidless(deps, accounts);
  await giveWay();
  const targets = accounts.map((account) => toTarget(sock, account));
  const devices = targets.flatMap((target) => target.devices);
  const addresses = devices.map(({ jid }) => jidToSignalProtocolAddress(jid));
  await Promise.all([
    keys.get('session', addresses),
    keys.get(
      'tctoken',
      accounts.map(({ jid, lid }) => jidNormalizedUser(lid ?? jid)),
    ),
  ]);
  const errors = await fetchBundles(deps, await withoutSession(deps, devices));
  const ownUser = jidDecode(sock.user?.id)?.user;
  return targets.map((target) => conclude(target, errors, ownUser));
}

function toTarget(sock: BaileysSocket, account: Account): Target {
  const me = jidDecode(sock.user?.id);
  const { user } = jidDecode(account.jid)!;
  const others = account.devices.filter(({ id }) => user !== me?.user || id !== (me.device ?? 0));
  const devices = others.map((device) => ({
    device,
    jid: toJid(deviceOf(account.lid ?? account.jid, device)),
    alias: toJid(deviceOf(account.jid, device)),
  }));
  return { account, devices };
}

function deviceOf(jid: string, { id, isHosted }: UserDevice): FullJid {
  const { user, server } = jidDecode(jid)!;
  if (!isHosted) return { user, server, device: id };
  return { user, server: server === 'lid' ? 'hosted.lid' : 'hosted', device: id };
}

function toJid({ user, server, device }: FullJid): string {
  return jidEncode(user, server, device);
}

/**
 * The library would ask the network for the LID of such an account again and again. When the account gets one, it moves
 * the sessions, and looks into `device-list` for the devices that have them.
 */
async function rememberLidless({ sock, caches }: PrepareDeps, accounts: readonly Account[]): Promise<void> {
  const lists: Record<string, string[]> = {};
  for (const { jid, lid, devices } of accounts) {
    const { user } = jidDecode(jid)!;
    if (lid) continue;
    caches.withoutLid.set(user, true);
    lists[user] = devices.map(({ id }) => String(id));
  }
  if (Object.keys(lists).length > 0) await sock.authState.keys.set({ 'device-list': lists });
}

async function withoutSession({ sock, giveWay }: PrepareDeps, devices: readonly Wanted[]): Promise<Wanted[]> {
  const missing: Wanted[] = [];
  for (const [index, device] of devices.entries()) {
    if (index % LOOKED_AT_PER_TURN === 0) await giveWay();
    const { exists } = await sock.signalRepository.validateSession(device.jid);
    if (!exists) missing.push(device);
  }
  return missing;
}

function conclude(
  { account, devices }: Target,
  errors: ReadonlyMap<string, number>,
  ownUser: string | undefined,
): Prepared {
  // Our own devices are not the recipients: without their keys they just get no copy.
  const isOurs = jidDecode(account.jid)?.user === ownUser;
  const able: FullJid[] = [];
  for (const { device, jid } of devices) {
    const error = errors.get(jid);
    if (error === undefined) able.push(deviceOf(account.jid, device));
    else if (!isOurs && (isPassing(error) || device.id === 0)) return { error };
  }
  return { devices: able, isPartial: account.isGuess === true || able.length < devices.length };
}

function isPassing(error: number): boolean {
  return error === 408 || error === 429 || error >= 500;
}

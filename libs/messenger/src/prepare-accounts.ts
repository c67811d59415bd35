import { type BaileysSocket, type FullJid, jidDecode, jidEncode, jidNormalizedUser } from './baileys.js';
import { fetchBundles } from './fetch-bundles.js';
import type { UserDevice } from './read-users.js';
import type { Account } from './resolve-numbers.js';

/** An account that can be sent to: its devices that have a session. */
export type Prepared = { devices: FullJid[] } | { error: number };

interface Target {
  account: Account;
  /** Each device, and the jid whose Signal address its session has. */
  devices: { device: UserDevice; sessionJid: string }[];
}

/**
 * Makes the Signal sessions that are missing, for many accounts at once, and reads what sends will need into the cache.
 * A linked device without keys is left out, as the network's own clients do; without the phone itself, or when the
 * network was only busy, the account has an error.
 */
export async function prepareAccounts(sock: BaileysSocket, accounts: readonly Account[]): Promise<Prepared[]> {
  const { keys } = sock.authState;
  const { lidMapping, jidToSignalProtocolAddress } = sock.signalRepository;
  // The mapping first: sessions live under the LID from here on, and the library finds them through it.
  await lidMapping.storeLIDPNMappings(accounts.flatMap(({ jid, lid }) => (lid ? [{ lid, pn: jid }] : [])));
  await rememberDevices(sock, accounts);
  const targets = accounts.map((account) => toTarget(sock, account));
  const sessionJids = targets.flatMap(({ devices }) => devices.map(({ sessionJid }) => sessionJid));
  await Promise.all([
    keys.get('session', sessionJids.map(jidToSignalProtocolAddress)),
    keys.get(
      'tctoken',
      accounts.map(({ jid, lid }) => jidNormalizedUser(lid ?? jid)),
    ),
  ]);
  const errors = await fetchBundles(sock, await withoutSession(sock, sessionJids));
  return targets.map((target) => conclude(target, errors));
}

function toTarget(sock: BaileysSocket, account: Account): Target {
  const me = jidDecode(sock.user?.id);
  const { user } = jidDecode(account.jid)!;
  const others = account.devices.filter(({ id }) => user !== me?.user || id !== (me.device ?? 0));
  const sessionJid = (device: UserDevice) => toJid(deviceOf(account.lid ?? account.jid, device));
  return { account, devices: others.map((device) => ({ device, sessionJid: sessionJid(device) })) };
}

function deviceOf(jid: string, { id, isHosted }: UserDevice): FullJid {
  const { user, server } = jidDecode(jid)!;
  if (!isHosted) return { user, server, device: id };
  return { user, server: server === 'lid' ? 'hosted.lid' : 'hosted', device: id };
}

function toJid({ user, server, device }: FullJid): string {
  return jidEncode(user, server, device);
}

/** The library moves sessions when such an account gets a LID, and looks here for the devices that it has. */
async function rememberDevices(sock: BaileysSocket, accounts: readonly Account[]): Promise<void> {
  const lists = accounts
    .filter(({ lid }) => !lid)
    .map(({ jid, devices }) => [jidDecode(jid)!.user, devices.map(({ id }) => String(id))] as const);
  if (lists.length > 0) await sock.authState.keys.set({ 'device-list': Object.fromEntries(lists) });
}

async function withoutSession(sock: BaileysSocket, jids: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const jid of jids) {
    const { exists } = await sock.signalRepository.validateSession(jid);
    if (!exists) missing.push(jid);
  }
  return missing;
}

function conclude({ account, devices }: Target, errors: ReadonlyMap<string, number>): Prepared {
  const able: FullJid[] = [];
  for (const { device, sessionJid } of devices) {
    const error = errors.get(sessionJid);
    if (error === undefined) able.push(deviceOf(account.jid, device));
    else if (device.id === 0 || isPassing(error)) return { error };
  }
  return { devices: able };
}

function isPassing(error: number): boolean {
  return error === 408 || error === 429 || error >= 500;
}

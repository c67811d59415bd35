import { askInParts, type RefusedBefore } from '../lookup/ask-in-parts.js';
import type { SessionCaches } from '../lookup/session-caches.js';
import {
  type BaileysSocket,
  type BinaryNode,
  generateSignalPubKey,
  getBinaryNodeChild,
  getBinaryNodeChildBuffer,
  getBinaryNodeChildren,
  getBinaryNodeChildUInt,
  jidDecode,
  jidEncode,
  S_WHATSAPP_NET,
} from '../socket/baileys.js';

/** Devices a query may name. */
const MAX_DEVICES = 100;
const BAD_BUNDLE = 400;
const NO_ANSWER = 408;

type E2ESession = Parameters<BaileysSocket['signalRepository']['injectE2ESession']>[0]['session'];

/** A device that a session is wanted for. */
export interface Wanted {
  /** Where its session lives, and how it is asked for. */
  jid: string;
  /** Its other address: some servers answer with that. */
  alias: string;
}

export interface BundleDeps {
  sock: BaileysSocket;
  caches: Pick<SessionCaches, 'refused'>;
  /** Called between two turns of work. */
  giveWay(): Promise<void>;
}

/**
 * Fetches the key bundles of devices that have no session, many at a time, and makes their sessions.
 * @returns by jid the error of each device that has no session now: the network's code, 400 for a bundle whose signature
 *   is false or that is incomplete, 408 for one that was left out, 406 for one that the network refuses to look at.
 */
export async function fetchBundles(deps: BundleDeps, devices: readonly Wanted[]): Promise<Map<string, number>> {
  const errors = new Map<string, number>();
  for (let from = 0; from < devices.length; from += MAX_DEVICES) {
    const wanted = devices.slice(from, from + MAX_DEVICES);
    const ask = (part: readonly Wanted[]) => askForBundles(deps.sock, part);
    const { answers, refused } = await askInParts(wanted, ask, bundlesRefused(deps.caches.refused));
    const bundles = new Map(answers);
    for (const device of wanted) {
      if (!bundles.has(device.jid)) errors.set(device.jid, refused.get(device) ?? NO_ANSWER);
    }
    await makeSessions(deps, bundles, errors);
  }
  return errors;
}

/** People whose bundle is refused may still be looked up. */
function bundlesRefused(cache: SessionCaches['refused']): RefusedBefore<Wanted> {
  const keyOf = ({ jid }: Wanted) => `bundle ${jid}`;
  return {
    get: (device) => cache.get(keyOf(device)),
    set: (device, code) => cache.set(keyOf(device), code),
    delete: (device) => cache.delete(keyOf(device)),
  };
}

async function askForBundles(sock: BaileysSocket, devices: readonly Wanted[]): Promise<[string, BinaryNode][]> {
  const content = devices.map(({ jid }) => ({ tag: 'user', attrs: { jid } }));
  const answer: BinaryNode | undefined = await sock.query({
    tag: 'iq',
    attrs: { xmlns: 'encrypt', type: 'get', to: S_WHATSAPP_NET },
    content: [{ tag: 'key', attrs: {}, content }],
  });
  const users = getBinaryNodeChildren(answer && getBinaryNodeChild(answer, 'list'), 'user');
  // Only what was asked for: an answer must not replace the session of another device.
  const jids = new Map(devices.flatMap(({ jid, alias }) => [[alias, jid] as const, [jid, jid] as const]));
  const bundles = new Map<string, BinaryNode>();
  for (const user of users) {
    const jid = jids.get(plainJid(user.attrs.jid));
    if (jid) bundles.set(jid, user);
  }
  return [...bundles];
}

/** Without the `:0` that some servers write for the phone itself. */
function plainJid(jid: string | undefined): string {
  const { user, server, device } = jidDecode(jid) ?? {};
  return user && server ? jidEncode(user, server, device) : '';
}

async function makeSessions(
  { sock, giveWay }: BundleDeps,
  bundles: ReadonlyMap<string, BinaryNode>,
  errors: Map<string, number>,
): Promise<void> {
  for (const [jid, bundle] of bundles) {
    // Each takes about 1 ms of CPU, during which an OTP has to wait.
    await giveWay();
    // Not under the account's own mutex: a send need not wait for the sessions of others.
    const error = await sock.authState.keys.transaction(() => makeSession(sock, jid, bundle), 'lookup');
    if (error !== undefined) errors.set(jid, error);
  }
}

async function makeSession(sock: BaileysSocket, jid: string, user: BinaryNode): Promise<number | undefined> {
  const error = getBinaryNodeChild(user, 'error');
  if (error) return Number(error.attrs.code) || BAD_BUNDLE;
  const session = readBundle(user);
  if (!session) return BAD_BUNDLE;
  try {
    await sock.signalRepository.injectE2ESession({ jid, session });
    return undefined;
  } catch {
    // The signature of the signed pre-key is wrong, or a key is invalid: this bundle was not made by that device.
    return BAD_BUNDLE;
  }
}

function readBundle(user: BinaryNode): E2ESession | undefined {
  const registrationId = getBinaryNodeChildUInt(user, 'registration', 4);
  const identity = getBinaryNodeChildBuffer(user, 'identity');
  const signed = readKey(getBinaryNodeChild(user, 'skey'));
  const signature = signed && getBinaryNodeChildBuffer(signed.node, 'signature');
  if (registrationId === undefined || !identity || !signature) return undefined;
  const once = readKey(getBinaryNodeChild(user, 'key'));
  return {
    registrationId,
    identityKey: generateSignalPubKey(identity),
    signedPreKey: { keyId: signed.keyId, publicKey: signed.publicKey, signature },
    ...(once && { preKey: { keyId: once.keyId, publicKey: once.publicKey } }),
  };
}

function readKey(node: BinaryNode | undefined) {
  if (!node) return undefined;
  const keyId = getBinaryNodeChildUInt(node, 'id', 3);
  const value = getBinaryNodeChildBuffer(node, 'value');
  return keyId === undefined || !value ? undefined : { node, keyId, publicKey: generateSignalPubKey(value) };
}

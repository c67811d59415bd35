import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { LinkedDevice } from '../accounts/linked-device.js';
import { verify, withKeyType } from '../crypto/curve.js';
import { bundleNodes, makePhoneBundle } from '../phones/key-bundle.js';
import {
  type BinaryNode,
  bigEndian,
  childBytes,
  childNamed,
  childrenNamed,
  node,
  SERVER,
  stamp,
} from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** Below this many one-time keys a client is told to upload more. */
const FEW_PRE_KEYS = 5;
/** The most people one key query may ask about. */
const LARGEST_KEY_QUERY = 1_000;
/** So long one query may have the event loop. */
const TURN_MS = 2;

/** Pre-keys: counts, digest, bundles of others, uploads and rotation of one's own. */
export function answerEncrypt(server: Server, client: Client, query: BinaryNode): void {
  if (query.attrs.type === 'set') return keepKeys(server, client, query);
  if (childNamed(query, 'count')) {
    const value = String(client.device.preKeys.count);
    return client.session.reply(query, [node('count', { value })]);
  }
  if (childNamed(query, 'digest')) return answerDigest(client, query);
  const users = childrenNamed(childNamed(query, 'key'), 'user');
  if (users.length > LARGEST_KEY_QUERY) return client.session.replyError(query, 413, 'too many users');
  if (users.some((user) => isUnregistered(server, user)))
    return client.session.replyError(query, 406, 'not-acceptable');
  const asked = users.filter((user) => !isLeftOut(server, user));
  answerInTurns(asked, (user) => answerBundle(server, user)).then(
    (list) => client.session.reply(query, [node('list', {}, list)]),
    () => client.session.replyError(query, 500, 'internal-server-error'),
  );
}

/** The keys of a hundred phones take tens of ms to make, in which a network of many machines answers others. */
async function answerInTurns<Item>(items: readonly Item[], answer: (item: Item) => BinaryNode): Promise<BinaryNode[]> {
  const answers: BinaryNode[] = [];
  let sinceMs = performance.now();
  for (const item of items) {
    if (performance.now() - sinceMs > TURN_MS) {
      await setImmediate();
      sinceMs = performance.now();
    }
    answers.push(answer(item));
  }
  return answers;
}

/** Since 2026 one device that the network does not know any more fails the whole query, without a word about which. */
function isUnregistered({ network }: Server, { attrs }: BinaryNode): boolean {
  const { rules, directory, phones, accounts } = network;
  const address = rules.refusesKeyBatches ? directory.resolve(attrs.jid) : undefined;
  if (!address) return false;
  const { number, device } = address;
  return phones.habitsOf(number).badKeys === true || (device > 0 && !accounts.findDevice(number, device));
}

function isLeftOut({ network: { directory, phones } }: Server, { attrs }: BinaryNode): boolean {
  const number = directory.resolve(attrs.jid)?.number;
  return number !== undefined && phones.habitsOf(number).badKeys === 'leftOut';
}

function answerBundle(server: Server, user: BinaryNode): BinaryNode {
  const { directory, phones, accounts, counters, now } = server.network;
  const jid = user.attrs.jid;
  const address = directory.resolve(jid);
  if (!address || !directory.exists(address.number)) return missing(jid);
  counters.keyBundles += 1;
  const attrs = { jid, t: stamp(now()) };
  if (address.device === 0) return node('user', attrs, bundleNodes(makePhoneBundle(phones.keyring, address.number)));
  const device = accounts.findDevice(address.number, address.device);
  if (!device) return missing(jid);
  const bundle = bundleNodes(device.takeBundle());
  tellWhenLow(server, device);
  return node('user', attrs, bundle);
}

const missing = (jid: string | undefined) =>
  node('user', { jid }, [node('error', { code: '404', text: 'item-not-found' })]);

function tellWhenLow(server: Server, device: LinkedDevice): void {
  const { count } = device.preKeys;
  if (count !== FEW_PRE_KEYS - 1 && count !== 0) return;
  const attrs = {
    from: SERVER,
    type: 'encrypt',
    id: `low-${device.id}-${server.network.now()}`,
    t: stamp(server.network.now()),
  };
  device.mailbox.post(node('notification', attrs, [node('count', { value: String(count) })]));
}

/** Lets a client compare what the server has of its keys with what it believes: the hash is over all public keys. */
function answerDigest({ session, device }: Client, query: BinaryNode): void {
  const { registrationId, identity, signedPreKey, preKeys } = device;
  const hash = createHash('sha1').update(identity).update(signedPreKey.publicKey).update(signedPreKey.signature);
  const ids: BinaryNode[] = [];
  for (const { keyId, publicKey } of preKeys.entries()) {
    hash.update(publicKey);
    ids.push(node('id', {}, bigEndian(keyId, 3)));
  }
  session.reply(query, [
    node('digest', {}, [
      node('registration', {}, bigEndian(registrationId, 4)),
      node('type', {}, Buffer.from([5])),
      node('identity', {}, identity),
      node('skey', {}, [
        node('id', {}, bigEndian(signedPreKey.keyId, 3)),
        node('value', {}, signedPreKey.publicKey),
        node('signature', {}, signedPreKey.signature),
      ]),
      node('list', {}, ids),
      node('hash', {}, hash.digest()),
    ]),
  ]);
}

function keepKeys(server: Server, { session, device }: Client, query: BinaryNode): void {
  const rotation = childNamed(query, 'rotate');
  const signedPreKey = readSignedPreKey(childNamed(rotation ?? query, 'skey'));
  if (!signedPreKey) return session.replyError(query, 400, 'bad-request');
  const signed = verify(device.identity, withKeyType(signedPreKey.publicKey), signedPreKey.signature);
  if (!signed) {
    server.network.counters.invalidSignatures += 1;
    return session.replyError(query, 406, 'not-acceptable');
  }
  device.signedPreKey = signedPreKey;
  if (!rotation) {
    if (!childBytes(query, 'identity')?.equals(device.identity))
      return session.replyError(query, 406, 'not-acceptable');
    device.registrationId = childBytes(query, 'registration', 4)?.readUInt32BE(0) ?? device.registrationId;
    device.preKeys.add(childrenNamed(childNamed(query, 'list'), 'key').flatMap((key) => readPreKey(key) ?? []));
    server.network.counters.preKeyUploads += 1;
  }
  session.reply(query);
}

function readPreKey(key: BinaryNode | undefined): { keyId: number; publicKey: Buffer } | undefined {
  const id = childBytes(key, 'id', 3);
  const publicKey = childBytes(key, 'value', 32);
  return id && publicKey && { keyId: id.readUIntBE(0, 3), publicKey };
}

function readSignedPreKey(key: BinaryNode | undefined): LinkedDevice['signedPreKey'] | undefined {
  const preKey = readPreKey(key);
  const signature = childBytes(key, 'signature', 64);
  return preKey && signature && { ...preKey, signature };
}

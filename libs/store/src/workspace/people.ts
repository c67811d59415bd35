import { type ResendTally, withoutPerson } from '@gateway/contracts/devices/resend-tally';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { ScriptArgument } from '../core/scripts/define-script.js';
import { replaceSealed } from '../core/sealed-values.js';
import type { Store } from '../core/store.js';
import { MS_PER_DAY } from '../core/vault.js';
import { BUCKETS, bucketOf, forgetUnkeptNames } from '../devices/keys/device-keys.js';
import type { Ownership } from '../fleet/ownership.js';
import { forgetReceivedFrom } from '../inbound/received-messages.js';

/**
 * Keys of a device that are about people beside their sessions, each under a number or a hidden identifier: which of the
 * two belong together (`1`, and `2_reverse` for the way back), the devices of people without a hidden identifier, tokens.
 */
export const NAME_TYPES = ['lid-mapping', 'device-list', 'tctoken'] as const;
export type NameType = (typeof NAME_TYPES)[number];

/** Keys that carry their person's name in front of a device, or behind a group. */
const ADDRESSED_TYPES = ['session', 'identity-key', 'sender-key'] as const;
const ADDRESS = /^(?:.+::)?(\d+)(?:_\d+)?(?:\.|::)\d+$/;
const REVERSE = '_reverse';

/**
 * Forgets, of these keys, those that were not written since `beforeMs` and whose people have no session with the device's
 * account, nor a token (one that is too old goes the same way). The account's own names stay, and those that cannot be
 * opened: another process may know their key. Answers how many it forgot; safe to repeat. Throws `FencedError` for a stale owner.
 */
export async function forgetNames(
  store: Store,
  ownership: Ownership,
  { type, ids, own, beforeMs }: { type: NameType; ids: readonly string[]; own: string | undefined; beforeMs: number },
): Promise<number> {
  const keys = deviceKeys(store.space, ownership.address);
  const buckets = new Map<string, number>();
  const place = (keyType: string, id: string): [number, string] => {
    const key = keys.keyBucket(keyType, bucketOf(id));
    if (!buckets.has(key)) buckets.set(key, buckets.size + 1);
    return [buckets.get(key)!, id];
  };
  const names: ScriptArgument[] = [];
  for (const { id, users } of await namesOf(store, ownership.address, ids)) {
    if (!users || (own !== undefined && users.includes(own))) continue;
    const sessions = users.flatMap((user) => [`${user}.0`, `${user}_1.0`].map((session) => place('session', session)));
    const tokens = users.flatMap((user) =>
      [`${user}@s.whatsapp.net`, `${user}@lid`].map((jid) => place('tctoken', jid)),
    );
    const keepers = type === 'tctoken' ? sessions : [...sessions, ...tokens];
    names.push(...place(type, id), keepers.length, ...keepers.flat());
  }
  if (names.length === 0) return 0;
  const day = Math.floor(beforeMs / MS_PER_DAY);
  return forgetUnkeptNames(store, ownership, {
    ...{ contactIndex: keys.contactIndex, buckets: [...buckets.keys()], day, names },
  });
}

/** Both names of each person that one of them is known of; none where one cannot be opened. */
async function namesOf(
  store: Store,
  address: DeviceAddress,
  ids: readonly string[],
): Promise<{ id: string; users: string[] | undefined }[]> {
  return Promise.all(
    ids.map(async (id) => {
      const [user] = /^\d+/.exec(id) ?? [id];
      const others = await Promise.all([readName(store, address, user), readName(store, address, user + REVERSE)]);
      const known = others.filter((other) => other !== undefined && other !== UNREADABLE);
      return { id, users: others.includes(UNREADABLE) ? undefined : [user, ...known] };
    }),
  );
}

async function readName(store: Store, address: DeviceAddress, id: string): Promise<Name | undefined> {
  const key = deviceKeys(store.space, address).keyBucket('lid-mapping', bucketOf(id));
  const sealed = await store.redis.hgetBuffer(key, id);
  return sealed ? openName(store, key, id, sealed) : undefined;
}

const UNREADABLE = Symbol('unreadable');
type Name = string | typeof UNREADABLE;

/** Names are stored as JSON, like all keys. */
function openName(store: Store, key: string, id: string, sealed: Buffer): Name {
  try {
    return JSON.parse(store.vault.open(sealed, 'session', `${key}/${id}`).toString()) as string;
  } catch {
    return UNREADABLE;
  }
}

/**
 * Forgets everything that the account of a device has kept about a person: sessions with all their devices, identities,
 * tokens, the pairs of their names, what they wrote, that the network refused messages to them or they got one again. Answers how many entries
 * of which kind it removed; kinds without one are left out. Not the sends to them, nor that they opted out. `unreadable`
 * counts what no key that is configured here opens: pairs of names, messages and credentials that may name them, and stay.
 *
 * It needs no owner: the owner of the device goes on, and makes a new session at the next message. That owner may still
 * know the old one, and write it again with a message to this person. Safe to repeat.
 * @param phone digits, in any spelling.
 */
export async function forgetPerson(
  store: Store,
  address: DeviceAddress,
  phone: string,
): Promise<Record<string, number>> {
  const keys = deviceKeys(store.space, address);
  const { users, unreadable: namesUnreadable } = await findNames(store, address, phone);
  const jids = [...users].flatMap((user) => [`${user}@s.whatsapp.net`, `${user}@lid`]);
  const removed: Record<string, number> = {};
  const note = (kind: string, count: number) => {
    if (count > 0) removed[kind] = (removed[kind] ?? 0) + count;
  };
  const forget = async (type: string, ids: readonly string[]) => {
    for (const id of ids) note(type, await store.redis.hdel(keys.keyBucket(type, bucketOf(id)), id));
  };
  for (const type of ADDRESSED_TYPES) await forget(type, await idsOfPerson(store, address, type, users));
  await forget('tctoken', jids);
  note('contact-index', await store.redis.srem(keys.contactIndex, ...jids));
  await forget('device-list', [...users]);
  note('refused-contacts', await store.redis.srem(keys.refusedContacts, ...users));
  const { forgotten, unreadable } = await forgetReceivedFrom(
    store,
    address,
    ({ jid, phone: writer }) => users.has(userOf(jid)) || (writer !== undefined && users.has(writer)),
  );
  note('received', forgotten);
  note('unreadable', namesUnreadable + unreadable);
  for (const key of [keys.creds, keys.quarantinedCreds]) {
    note(...(await forgetResends(store, { key, place: keys.creds, users })));
  }
  // Last, so that a run that breaks off is followed by one that knows the same names.
  await forget(
    'lid-mapping',
    [...users].flatMap((user) => [user, user + REVERSE]),
  );
  return removed;
}

/** An owner that writes its credentials at the same time wins, and was told to forget them, too. */
async function forgetResends(
  store: Store,
  { key, place, users }: { key: string; place: string; users: ReadonlySet<string> },
): Promise<[kind: 'resends' | 'unreadable', count: number]> {
  const sealed = await store.redis.getBuffer(key);
  if (!sealed) return ['resends', 0];
  let creds: { resends?: ResendTally };
  try {
    creds = JSON.parse(store.vault.open(sealed, 'account', place).toString());
  } catch {
    return ['unreadable', 1];
  }
  const resends = withoutPerson(creds.resends, users);
  if (!resends) return ['resends', 0];
  const after = store.vault.seal(JSON.stringify({ ...creds, resends }), 'account', place);
  return ['resends', Number(await replaceSealed(store, { value: key, field: '', before: sealed, after }))];
}

/** Their numbers, in every spelling, and all hidden identifiers that the device knows of them. */
export async function namesOfPerson(store: Store, address: DeviceAddress, phone: string): Promise<Set<string>> {
  return (await findNames(store, address, phone)).users;
}

async function findNames(
  store: Store,
  address: DeviceAddress,
  phone: string,
): Promise<{ users: Set<string>; unreadable: number }> {
  const numbers = new Set(spellingsOf(phone));
  const { names, unreadable } = await hiddenNamesOf(store, address, numbers);
  return { users: new Set([...numbers, ...names]), unreadable };
}

function userOf(jid: string): string {
  return /^\d+/.exec(jid)?.[0] ?? jid;
}

/** All hidden identifiers that lead to one of the numbers, those from before a change too. */
async function hiddenNamesOf(
  store: Store,
  address: DeviceAddress,
  numbers: ReadonlySet<string>,
): Promise<{ names: string[]; unreadable: number }> {
  const names: string[] = [];
  let unreadable = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const key = deviceKeys(store.space, address).keyBucket('lid-mapping', bucket);
    for (const [id, sealed] of Object.entries(await store.redis.hgetallBuffer(key))) {
      if (!numbers.has(id) && !id.endsWith(REVERSE)) continue;
      const name = openName(store, key, id, sealed);
      if (name === UNREADABLE) unreadable++;
      else if (numbers.has(id)) names.push(name);
      else if (numbers.has(name)) names.push(id.slice(0, -REVERSE.length));
    }
  }
  return { names, unreadable };
}

/** Under any of the names, of any device. Only names leave Redis. */
async function idsOfPerson(
  store: Store,
  address: DeviceAddress,
  type: string,
  users: ReadonlySet<string>,
): Promise<string[]> {
  const found: string[] = [];
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const ids = await store.redis.hkeys(deviceKeys(store.space, address).keyBucket(type, bucket));
    found.push(...ids.filter((id) => users.has(ADDRESS.exec(id)?.[1] ?? '')));
  }
  return found;
}

import type { Workspace } from '@gateway/contracts/ids';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { defineScript, flag, number, text } from '../core/scripts/define-script.js';
import { nothing } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { addOptOuts, bucketOf, entryOf, findOptedOut, findOptOut, takeBackOptOut } from './opt-outs.js';

const joinStep = defineScript({
  name: 'join-opt-out',
  whenFull: 'runs',
  keys: ['shortIds', 'count', 'inUse', 'log', 'hiddenBucket', 'phoneBucket'],
  args: {
    nowMs: number,
    hiddenEntry: text,
    phone: text,
    hiddenBucketNumber: number,
    phoneBucketNumber: number,
    isAlways: flag,
  },
  reply: nothing,
});

/** A person as the network shows them: by number, by hidden identifier (`digits@lid`), or by both. */
export interface Person {
  phone?: string | undefined;
  hiddenId?: string | undefined;
}

/**
 * What the list has under a hidden identifier: nothing; the number that it points to; or the opt-out itself, while
 * no number is known.
 */
type Hidden = { kind: 'nothing' } | { kind: 'leadsTo'; phone: string } | { kind: 'optedOut' };

interface OptOutNames {
  numbers: readonly string[];
  hiddenId?: string | undefined;
  storedHiddenId?: string | undefined;
}

/** Someone wrote STOP. Whether they are new on the list. Safe to repeat. */
export async function recordStop(
  store: Store,
  workspace: Workspace,
  { phone, hiddenId, atMs }: Person & { atMs: number },
): Promise<boolean> {
  const put = async (person: string) =>
    (await addOptOuts(store, workspace, { numbers: [person], source: 'reply', atMs, from: 'device' })).added > 0;
  if (phone !== undefined) {
    const isNew = await put(phone);
    if (hiddenId !== undefined) await join(store, workspace, { phone, hiddenId }, { always: true });
    return isNew;
  }
  if (hiddenId === undefined) return false;
  const hidden = await readHidden(store, workspace, hiddenId);
  return put(hidden.kind === 'leadsTo' ? hidden.phone : hiddenId);
}

/**
 * A person wrote START: returns whether that undid their own opt-out, under either name. Safe to repeat. A number
 * that they had before may belong to another person by now, whose opt-out must stay.
 */
export async function recordStart(
  store: Store,
  workspace: Workspace,
  { phone, hiddenId, atMs }: Person & { atMs: number },
): Promise<boolean> {
  const hidden = await readHidden(store, workspace, hiddenId);
  const former = hidden.kind === 'leadsTo' ? hidden.phone : undefined;
  const names = [hiddenId, phone ?? former];
  const known = names.filter((name) => name !== undefined);
  const taken = await Promise.all(known.map((number) => takeBackOptOut(store, workspace, { number, atMs })));
  if (phone !== undefined && hiddenId !== undefined && former !== undefined && former !== canonicalPhoneNumber(phone)) {
    const left = await findOptOut(store, workspace, former);
    // An operator's decision about the number, and a STOP after this START, hold for the person.
    const isOver = !left || (left.source === 'reply' && left.atMs <= atMs);
    if (isOver) await join(store, workspace, { phone, hiddenId }, { always: true });
  }
  return taken.includes(true);
}

/** Hidden identifiers, out of these, of people who have opted out and whose number is not known. One round trip. */
export async function findHiddenWishes(
  store: Store,
  workspace: Workspace,
  hiddenIds: readonly string[],
): Promise<Set<string>> {
  const found = await Promise.all(hiddenIds.map((hiddenId) => readHidden(store, workspace, hiddenId)));
  return new Set(hiddenIds.filter((_, i) => found[i]!.kind === 'optedOut'));
}

/** A number and a hidden identifier turn out to be one person's: a wish under the identifier counts for the number. Safe to repeat. */
export async function joinOptOut(store: Store, workspace: Workspace, { phone, hiddenId }: Person): Promise<void> {
  if (phone === undefined || hiddenId === undefined) return;
  const { kind } = await readHidden(store, workspace, hiddenId);
  if (kind === 'optedOut') await join(store, workspace, { phone, hiddenId }, { always: false });
}

/**
 * Whether a person opted out, under any of their numbers or under a hidden identifier. If that is one which the network
 * named, it is written down for the number too.
 * @param numbers of one person, the network's own form last.
 * @param storedHiddenId what only a device's keys say; its phone may have made it up, so nothing is written down.
 */
export async function isOptedOut(
  store: Store,
  workspace: Workspace,
  { numbers, hiddenId, storedHiddenId }: OptOutNames,
): Promise<boolean> {
  const [found, hidden, stored] = await Promise.all([
    findOptedOut(store, workspace, numbers),
    readHidden(store, workspace, hiddenId),
    readHidden(store, workspace, storedHiddenId),
  ]);
  if (hidden.kind === 'optedOut') await joinOptOut(store, workspace, { phone: numbers.at(-1), hiddenId });
  if (found.size > 0 || hidden.kind === 'optedOut' || stored.kind === 'optedOut') return true;
  // They had another number then.
  const former = [hidden, stored].flatMap((each) => (each.kind === 'leadsTo' ? [each.phone] : []));
  return former.length > 0 && (await findOptedOut(store, workspace, former)).size > 0;
}

async function readHidden(store: Store, workspace: Workspace, hiddenId: string | undefined): Promise<Hidden> {
  if (hiddenId === undefined) return { kind: 'nothing' };
  const entry = entryOf(hiddenId);
  const value = await store.redis.hget(workspaceKeys(store.space, workspace).optOuts(bucketOf(entry)), entry);
  if (value === null) return { kind: 'nothing' };
  return value.startsWith('-') ? { kind: 'leadsTo', phone: value.slice(1) } : { kind: 'optedOut' };
}

async function join(
  store: Store,
  workspace: Workspace,
  { phone, hiddenId }: { phone: string; hiddenId: string },
  { always }: { always: boolean },
): Promise<void> {
  const keys = workspaceKeys(store.space, workspace);
  const entries = { hiddenEntry: entryOf(hiddenId), phone: canonicalPhoneNumber(phone) };
  const [ofHidden, ofPhone] = [bucketOf(entries.hiddenEntry), bucketOf(entries.phone)];
  await joinStep(store, {
    shortIds: keys.shortDeviceIds,
    ...{ count: keys.optOutCount, inUse: keys.optOutBuckets, log: keys.eventLog, nowMs: systemClock.nowMs() },
    ...{ hiddenBucket: keys.optOuts(ofHidden), phoneBucket: keys.optOuts(ofPhone) },
    ...{ ...entries, hiddenBucketNumber: ofHidden, phoneBucketNumber: ofPhone, isAlways: always },
  });
  // Part of what a person wrote; else it only moves what was promised before.
  if (always) await store.confirmWrites(keys.optOutCount);
}

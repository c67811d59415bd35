import { crc32 } from 'node:zlib';
import type { Workspace } from '@gateway/contracts/ids';
import {
  digitsOfHiddenId,
  MOST_OPT_OUT_SOURCES,
  OPT_OUT_SOURCES,
  type OptOutSource,
} from '@gateway/contracts/people/opt-outs';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { writeTogether } from '../core/confirming/write-together.js';
import { defineScript, flag, mixed, number, type ScriptArgument, text } from '../core/scripts/define-script.js';
import type { Store } from '../core/store.js';
import { WorkspaceGoneError } from '../core/workspace-gone-error.js';

const addStep = defineScript({
  name: 'add-opt-outs',
  whenFull: 'runs',
  keys: ['count', 'inUse', 'log', 'starts', 'sign', '...buckets'],
  args: { isSure: flag, nowMs: number, value: number, most: number, '...entries': mixed },
  reply: (reply) => reply as [added: number, refused: number],
});
const removeStep = defineScript({
  name: 'remove-opt-out',
  whenFull: 'runs',
  keys: ['shortIds', 'count', 'inUse', 'log', 'starts', 'bucket', 'token?'],
  args: { nowMs: number, by: number, entry: text, bucketNumber: number, replySeconds: mixed, startsKeptMs: number },
  reply: (reply) => reply as 1 | 0 | -1,
});

/** A person who gets no messages from any device of the workspace. */
export interface OptOut {
  /** Digits, in the form that all ways to write the number share. */
  phone?: string;
  /** `digits@lid`: of a person whose number is not known. Its digits look like a phone number but are not one. */
  hiddenId?: string;
  source: OptOutSource;
  /** To the second. */
  atMs: number;
}

/** Redis keeps hashes of this size as packed lists: 23 bytes a person, where one hash for all would take 72. */
const BUCKETS = 4_096;
const MAX_ADDED_AT_ONCE = 1_000;
/** As long as the network may keep a STOP for a device that was away, while a START passes it. */
const STARTS_KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Those who are on the list already stay as they came; a later reply refreshes the time of an earlier one. A reply of a person who has
 * asked for messages again since then adds no one. Safe to repeat.
 * Answers how many are new, and how many were refused as the list had `max` people already.
 * @param numbers or hidden identifiers. @param max default: no limit. @param from where it comes
 * from; a token, and devices, go with their workspace: throws `WorkspaceGoneError` then. Default: an operator, who knows.
 */
export async function addOptOuts(
  store: Store,
  workspace: Workspace,
  {
    numbers,
    source,
    atMs,
    max = Number.MAX_SAFE_INTEGER,
    from,
  }: {
    numbers: readonly string[];
    source: OptOutSource;
    atMs: number;
    max?: number;
    from?: { keyId: string } | 'device';
  },
): Promise<{ added: number; refused: number }> {
  const phones = [...new Set(numbers.map(entryOf))];
  const { token, shortDeviceIds } = workspaceKeys(store.space, workspace);
  const sign = typeof from === 'object' ? token(from.keyId) : shortDeviceIds;
  const signed = { sign, isSure: from === undefined, value: toValue(source, atMs), most: max };
  const total = { added: 0, refused: 0 };
  for (let at = 0; at < phones.length; at += MAX_ADDED_AT_ONCE) {
    const batch = phones.slice(at, at + MAX_ADDED_AT_ONCE);
    const [added, refused] = await addBatch(store, workspace, batch, signed);
    total.added += added;
    total.refused += refused;
  }
  return total;
}

async function addBatch(
  store: Store,
  workspace: Workspace,
  phones: readonly string[],
  how: { sign: string; isSure: boolean; value: number; most: number },
): Promise<[added: number, refused: number]> {
  const keys = workspaceKeys(store.space, workspace);
  const places = new Map<number, number>();
  const buckets: string[] = [];
  const entries: ScriptArgument[] = [];
  for (const phone of phones) {
    const bucket = bucketOf(phone);
    if (!places.has(bucket)) places.set(bucket, buckets.push(keys.optOuts(bucket)));
    entries.push(places.get(bucket)!, bucket, phone);
  }
  const added = await addStep(store, { ...listKeys(keys), ...how, nowMs: systemClock.nowMs(), buckets, entries });
  if (added[0] < 0) throw new WorkspaceGoneError();
  await store.confirmWrites(keys.optOutCount);
  return added;
}

/**
 * Removes a person from the list on behalf of an operator, whatever the source of the entry. `false`: they were not on it. Safe to repeat.
 * @param keyId of the token of a caller: throws `WorkspaceGoneError` when it has gone, with its workspace.
 */
export async function removeOptOut(
  store: Store,
  workspace: Workspace,
  number: string,
  by: OptOutSource = 'api',
  keyId?: string,
): Promise<boolean> {
  return writeTogether(store, workspaceKeys(store.space, workspace).optOutCount, async () => {
    // A hidden identifier may lead to a number.
    const found = await findOptOut(store, workspace, number);
    // Else an earlier attempt may have taken it off, and not have heard that replicas know.
    return found !== undefined && remove(store, workspace, placeOf(found), { replySeconds: '', by, keyId });
  });
}

/** A person asks for messages again: this undoes their own opt-out of before, also one that comes later, and not one that an operator added. */
export async function takeBackOptOut(
  store: Store,
  workspace: Workspace,
  { number, atMs }: { number: string; atMs: number },
): Promise<boolean> {
  const isRemoved = await remove(store, workspace, number, { replySeconds: toSeconds(atMs), by: 'reply' });
  await store.confirmWrites(workspaceKeys(store.space, workspace).optOutCount);
  return isRemoved;
}

/** Has to be confirmed. */
async function remove(
  store: Store,
  workspace: Workspace,
  number: string,
  { replySeconds, by, keyId }: { replySeconds: number | ''; by: OptOutSource; keyId?: string | undefined },
): Promise<boolean> {
  const keys = workspaceKeys(store.space, workspace);
  const phone = entryOf(number);
  const bucket = bucketOf(phone);
  const places = { ...listKeys(keys), shortIds: keys.shortDeviceIds, bucket: keys.optOuts(bucket) };
  const told = { nowMs: systemClock.nowMs(), by: OPT_OUT_SOURCES.indexOf(by) };
  const start = { replySeconds, startsKeptMs: STARTS_KEPT_MS };
  const token = keyId === undefined ? undefined : keys.token(keyId);
  const removed = await removeStep(store, { ...places, token, ...told, entry: phone, bucketNumber: bucket, ...start });
  if (removed < 0) throw new WorkspaceGoneError();
  return removed === 1;
}

function listKeys({ optOutCount, optOutBuckets, optOutStarts, eventLog }: ReturnType<typeof workspaceKeys>) {
  return { count: optOutCount, inUse: optOutBuckets, starts: optOutStarts, log: eventLog };
}

/**
 * That these asked for messages again. Answers of how many it was known. Safe to repeat.
 * @param users digits, of numbers or of hidden identifiers.
 */
export function forgetStarts(store: Store, workspace: Workspace, users: Iterable<string>): Promise<number> {
  const { optOutStarts } = workspaceKeys(store.space, workspace);
  const entries = Array.from(users, (user) => [entryOf(user), entryOf(`${user}@lid`)]).flat();
  return store.redis.zrem(optOutStarts, ...entries);
}

/** The entry of a number, in any spelling, or of a hidden identifier; `undefined` if there is none. */
export async function findOptOut(store: Store, workspace: Workspace, number: string): Promise<OptOut | undefined> {
  const entry = entryOf(number);
  const value = await store.redis.hget(workspaceKeys(store.space, workspace).optOuts(bucketOf(entry)), entry);
  if (value === null) return undefined;
  return leadsToNumber(value) ? findOptOut(store, workspace, value.slice(1)) : toOptOut(entry, value);
}

/** Those of the numbers whose people have opted out: one round trip, whatever their number. */
export async function findOptedOut(
  store: Store,
  workspace: Workspace,
  numbers: readonly string[],
): Promise<Set<string>> {
  const keys = workspaceKeys(store.space, workspace);
  const phones = numbers.map(canonicalPhoneNumber);
  const people = [...new Set(phones)];
  const found = await Promise.all(people.map((phone) => store.redis.hexists(keys.optOuts(bucketOf(phone)), phone)));
  const optedOut = new Set(people.filter((_, i) => found[i] === 1));
  return new Set(numbers.filter((_, i) => optedOut.has(phones[i]!)));
}

/** Where an entry is on the list: for `after` of the next page. */
export function placeOf({ phone, hiddenId }: OptOut): string {
  return phone ?? hiddenId ?? '';
}

export async function countOptOuts(store: Store, workspace: Workspace): Promise<number> {
  return Number((await store.redis.get(workspaceKeys(store.space, workspace).optOutCount)) ?? 0);
}

/**
 * A page of the list, in an arbitrary but stable order: a person who stays on the list is on
 * exactly one page.
 * @param after the `placeOf` the last one of the page before.
 */
export async function listOptOuts(
  store: Store,
  workspace: Workspace,
  { after, limit }: { after?: string; limit: number },
): Promise<OptOut[]> {
  const keys = workspaceKeys(store.space, workspace);
  const [bits, count] = await Promise.all([store.redis.getBuffer(keys.optOutBuckets), countOptOuts(store, workspace)]);
  const last = after === undefined ? undefined : entryOf(after);
  const first = last === undefined ? 0 : bucketOf(last);
  const buckets = bucketsIn(bits).filter((bucket) => bucket >= first);
  const page: OptOut[] = [];
  // As many at a time as the page probably takes.
  const step = Math.max(1, Math.ceil((limit * bucketsIn(bits).length) / Math.max(count, 1)));
  for (let from = 0; from < buckets.length && page.length < limit; from += step) {
    const read = buckets.slice(from, from + step).map((bucket) => store.redis.hgetall(keys.optOuts(bucket)));
    for (const entries of await Promise.all(read)) page.push(...sorted(entries));
    if (from === 0 && last !== undefined && buckets[0] === first) dropUpTo(page, last);
  }
  return page.slice(0, limit);
}

function sorted(entries: Record<string, string>): OptOut[] {
  return Object.entries(entries)
    .filter(([, value]) => !leadsToNumber(value))
    .sort(([one], [other]) => compareEntries(one, other))
    .map(([entry, value]) => toOptOut(entry, value));
}

function compareEntries(one: string, other: string): number {
  return Number(BigInt(one) - BigInt(other));
}

/** Takes what earlier pages had from the beginning, which is all of the bucket of `after`. */
function dropUpTo(page: OptOut[], after: string): void {
  const bucket = bucketOf(after);
  const next = page
    .map((optOut) => entryOf(placeOf(optOut)))
    .findIndex((entry) => bucketOf(entry) !== bucket || compareEntries(entry, after) > 0);
  page.splice(0, next === -1 ? page.length : next);
}

function bucketsIn(bits: Buffer | null): number[] {
  return Array.from({ length: (bits?.length ?? 0) * 8 }, (_, bucket) => bucket).filter(
    (bucket) => (bits![bucket >> 3]! & (0x80 >> (bucket & 7))) !== 0,
  );
}

/** The field of a person: digits of their number, or a minus and the digits of their hidden identifier. Redis packs both as integers. */
export function entryOf(person: string): string {
  const hidden = digitsOfHiddenId(person);
  return hidden === undefined ? canonicalPhoneNumber(person) : `-${hidden}`;
}

/** What is no opt-out, but the number that a hidden identifier leads to: see hidden-opt-outs.ts. */
function leadsToNumber(value: string): boolean {
  return value.startsWith('-');
}

export function bucketOf(entry: string): number {
  return crc32(entry) % BUCKETS;
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function toValue(source: OptOutSource, atMs: number): number {
  return toSeconds(atMs) * MOST_OPT_OUT_SOURCES + OPT_OUT_SOURCES.indexOf(source);
}

function toOptOut(entry: string, value: string): OptOut {
  const source = OPT_OUT_SOURCES[Number(value) % MOST_OPT_OUT_SOURCES];
  if (!source) throw new Error('an opt-out from a source that this version does not know');
  const person = entry.startsWith('-') ? { hiddenId: `${entry.slice(1)}@lid` } : { phone: entry };
  return { ...person, source, atMs: Math.floor(Number(value) / MOST_OPT_OUT_SOURCES) * 1000 };
}

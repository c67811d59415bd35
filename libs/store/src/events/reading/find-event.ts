import { compareEntries, entryBefore, entryMs, type LogPlace } from '@gateway/contracts/events/cursor';
import { CLOCKS_DIFFER_MS, type EventPart } from '@gateway/contracts/events/entry';
import { type EventIdParts, parseEventId } from '@gateway/contracts/events/event-id';
import { type ChangeData, EVENT_TYPES, type GatewayEvent } from '@gateway/contracts/events/events';
import {
  type DeviceAddress,
  type DeviceId,
  parseMessageId,
  type SendTag,
  type Workspace,
} from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { sendKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { RECIPIENT_STATUSES, type RecipientStatus } from '@gateway/contracts/sends/statuses';
import { systemClock } from '@gateway/runtime/clock';
import type { Store } from '../../core/store.js';
import { findDeviceByShortId, readIdKey } from '../../devices/devices.js';
import { readArrival, readLostMs } from '../../inbound/received-messages.js';
import { readRecipients, readRecord, type SendRecord } from '../../sends/read-send.js';
import { type LogGone, type LoggedEntry, openKnown, readEntries } from '../read-log.js';
import { type EventFilter, entryReader } from '../render-events.js';

/** Where in the log an event is looked for. */
interface Search {
  /** It is not older. */
  earliestMs: number;
  /** From here on, towards now; or from here back alone. */
  fromMs: number;
  isBack?: boolean;
  /** It is in no other. */
  entry?: string;
  /** How far one is in an entry who has all before it; `undefined` where it is not in there. */
  offsetIn(entry: LoggedEntry): number | undefined;
  /** Behind this one there is none; it is looked for before it, too, and where this one is not in the log yet. */
  endsAt?(entry: LoggedEntry): boolean;
}

/** An event in the log, or the changes with which it is told. */
export interface FoundEvent {
  event: GatewayEvent;
  /** Where one is who has all before it, and who has it, too. */
  after: LogPlace;
  to: LogPlace;
}

/** Entries that may be looked through: for each event `AT_ONCE`, and so many more for all. */
export interface Looks {
  left: number;
}

/** Entries that are looked through for one event: as many as one call of `GET /events` looks through. */
const MOST_ENTRIES = 10_000;
const AT_ONCE = 500;

/**
 * The event of an id, the same bytes as it was told in. `undefined` when there is none, or it is not among the entries around the time
 * that is known of it; `LogGone` when it may have been one that is not kept any more.
 */
export async function findEvent(
  store: Store,
  workspace: Workspace,
  id: string,
  filter: { devices?: readonly DeviceId[] } = {},
): Promise<GatewayEvent | LogGone | undefined> {
  const found = await findInLog(store, workspace, {
    id,
    filter: { ...filter, types: EVENT_TYPES },
    looks: makeLooks(),
  });
  return found && 'event' in found ? found.event : found;
}

/** Enough for one event, and for a hundred that are where they are expected. */
export const makeLooks = (): Looks => ({ left: MOST_ENTRIES - AT_ONCE });

/** The same with its place, also of a change that is only told with others. @param filter what is told of the log. */
export async function findInLog(
  store: Store,
  workspace: Workspace,
  { id, filter, looks }: { id: string; filter: EventFilter; looks: Looks },
): Promise<FoundEvent | LogGone | undefined> {
  const parts = parseEventId(id);
  const search = parts && (await planSearch(store, workspace, parts, filter));
  if (!search) return undefined;
  for await (const entry of candidates(store, workspace, search, looks)) {
    const taken = search.offsetIn(entry);
    const found = taken === undefined ? undefined : await findIn(store, workspace, { id, filter, entry, taken });
    if (found) return found;
  }
  const goneTo = await store.redis.hget(workspaceKeys(store.space, workspace).eventMarks, 'goneTo');
  const mayBeGone = goneTo !== null && compareEntries(`${search.earliestMs}-0`, goneTo) <= 0;
  return mayBeGone ? { oldest: { entry: goneTo, offset: 0 } } : undefined;
}

async function findIn(
  store: Store,
  workspace: Workspace,
  { id, filter, entry, taken }: { id: string; filter: EventFilter; entry: LoggedEntry; taken: number },
): Promise<FoundEvent | undefined> {
  const before = entryBefore(entry.id);
  let found: { event: GatewayEvent; end: number } | undefined;
  for await (const { event, end, rowEnds } of entryReader(store, workspace, filter)(entry, taken)) {
    if (found) return { event: found.event, ...placesOf(before, found.end) };
    if (event.id === id) found = { event, end };
    const row = rowEnds ? (event.data.changes as ChangeData[]).findIndex((change) => change.id === id) : -1;
    if (row >= 0) return { event, ...placesOf(before, rowEnds![row]!) };
  }
  if (!found) return undefined;
  // The last of an entry ends it. A change is at its own place, in whichever way it is told.
  const isChange = found.end % 2 === 1;
  return {
    event: found.event,
    ...placesOf(before, found.end),
    ...(!isChange && { to: { entry: entry.id, offset: 0 } }),
  };
}

const placesOf = (entry: string, end: number) => ({ after: { entry, offset: end - 1 }, to: { entry, offset: end } });

async function planSearch(
  store: Store,
  workspace: Workspace,
  parts: EventIdParts,
  { devices }: EventFilter,
): Promise<Search | undefined> {
  const findDevice = async (shortId: string) => {
    const device = await findDeviceByShortId(store, workspace, shortId);
    return device !== undefined && (devices?.includes(device) ?? true) ? device : undefined;
  };
  if (parts.kind === 'timed' || parts.kind === 'logged') {
    const { place } = parts;
    if (place !== workspace && (await findDevice(place)) === undefined) return undefined;
    if (parts.kind === 'timed') return { ...at(parts.atMs), offsetIn: ({ atMs }) => startIf(atMs === parts.atMs) };
    return { ...at(entryMs(parts.entry)), entry: parts.entry, offsetIn: () => 0 };
  }
  const device = await findDevice(parts.shortDeviceId);
  if (device === undefined) return undefined;
  const address = { workspace, device };
  if (parts.kind === 'change' || parts.kind === 'keyless') return planChange(store, address, parts);
  if (parts.kind === 'finished') return planFinished(store, address, parseMessageId(parts.messageId)!.tag);
  const arrivedAtMs = await readArrival(store, address, parts.receivedId);
  const isIt = (part: EventPart) => part.kind === 'received' && part.receivedId === parts.receivedId;
  const offsetIn = (entry: LoggedEntry) =>
    entry.device === device && entry.tag === undefined ? offsetOf(entry, (part) => firstIf(isIt(part))) : undefined;
  if (arrivedAtMs !== undefined) return { ...at(arrivedAtMs), offsetIn };
  // It may have had to go for room: then it did not come later than all that had to.
  const lostMs = await readLostMs(store, address);
  if (lostMs === undefined) return undefined;
  return { earliestMs: 0, fromMs: lostMs + CLOCKS_DIFFER_MS, isBack: true, offsetIn };
}

const startIf = (isIt: boolean) => (isIt ? 0 : undefined);
const firstIf = (isIt: boolean) => (isIt ? 0 : -1);

/** @param indexIn which change of a part it is, or below 0. */
function offsetOf({ parts }: LoggedEntry, indexIn: (part: EventPart) => number): number | undefined {
  let before = 0;
  for (const part of parts) {
    const index = indexIn(part);
    if (index >= 0) return 2 * (before + index);
    before += part.kind === 'changes' ? part.changes.length : 1;
  }
  return undefined;
}

/** The time of the last change of a recipient is known; those before it are looked for from there, towards the time of the send. */
async function planChange(
  store: Store,
  address: DeviceAddress,
  parts: EventIdParts & { kind: 'change' | 'keyless' },
): Promise<Search | undefined> {
  const { status } = parts;
  const { tag, index } = parts.kind === 'keyless' ? parts : await placeOf(store, address, parts.platformId);
  const send = tag === undefined ? undefined : await readRecord(store, address, tag);
  if (!send) return undefined;
  const [recipient] = await readRecipients(store, address, send.tag, { from: index, limit: 1 });
  if (!recipient || !mayHaveBeen(status, recipient.status)) return undefined;
  const changeIn = (part: EventPart) =>
    part.kind === 'changes' ? part.changes.findIndex((each) => each.index === index && each.status === status) : -1;
  const offsetIn = (entry: LoggedEntry) => (isOf(entry, address, send) ? offsetOf(entry, changeIn) : undefined);
  if (status === recipient.status) return { ...at(recipient.atMs), offsetIn };
  return { ...backFrom([recipient], address, send), offsetIn };
}

/** Whether a recipient may have come to it before what they are now, or is that. Of what had expired a phone may say that it has it. */
function mayHaveBeen(status: RecipientStatus, last: RecipientStatus): boolean {
  if (status === 'expired' && (last === 'delivered' || last === 'read')) return true;
  return RECIPIENT_STATUSES.indexOf(status) <= RECIPIENT_STATUSES.indexOf(last);
}

/** From the last changes of these recipients back to where the send began. */
function backFrom(
  last: readonly RecipientView[],
  address: DeviceAddress,
  send: SendRecord,
): Pick<Search, 'fromMs' | 'earliestMs' | 'endsAt'> {
  const nameOf = ({ index, status }: Pick<RecipientView, 'index' | 'status'>) => `${index} ${status}`;
  const left = new Set(last.map(nameOf));
  const endsAt = (entry: LoggedEntry) => {
    for (const part of isOf(entry, address, send) ? entry.parts : []) {
      if (part.kind === 'changes') for (const change of part.changes) left.delete(nameOf(change));
    }
    return left.size === 0;
  };
  return { ...at(Math.min(...last.map(({ atMs }) => atMs))), earliestMs: send.createdAtMs, endsAt };
}

async function placeOf(
  store: Store,
  address: DeviceAddress,
  platformId: string,
): Promise<{ tag?: SendTag; index: number }> {
  const idKey = await readIdKey(store, address);
  const place = idKey && platformIds(idKey).parse(platformId);
  return place ? { tag: place.tag, index: place.recipient } : { index: -1 };
}

const at = (atMs: number) => ({ earliestMs: atMs, fromMs: atMs - CLOCKS_DIFFER_MS });

const isOf = (entry: LoggedEntry, { device }: DeviceAddress, { tag }: Pick<SendRecord, 'tag'>) =>
  entry.device === device && entry.tag === tag;

/**
 * The content of a send lives for a fixed time from its end on; that of a one-time password goes soon. Content that no phone has goes with
 * the end, and then nothing changes any more; but also with the last recipient who is forgotten, after receipts.
 */
async function planFinished(store: Store, address: DeviceAddress, tag: SendTag): Promise<Search | undefined> {
  const send = await readRecord(store, address, tag);
  if (send?.state !== 'closed') return undefined;
  const endIn = (part: EventPart) => firstIf(part.kind === 'finished');
  const offsetIn = (entry: LoggedEntry) => (isOf(entry, address, send) ? offsetOf(entry, endIn) : undefined);
  if (send.kind === 'otp') return { ...at(send.createdAtMs), offsetIn };
  const leftMs = await store.redis.pttl(sendKeys(store.space, address, tag).content);
  if (leftMs > 0) return { ...at(systemClock.nowMs() + leftMs - LIMITS.sendRetentionSeconds * 1000), offsetIn };
  const all = await readRecipients(store, address, tag, { from: 0, limit: send.total });
  if (all.length === 0) return undefined;
  const latestMs = Math.max(...all.map(({ atMs }) => atMs));
  // By clocks of several processes, any of these may be the last.
  const last = all.filter(({ atMs }) => atMs >= latestMs - CLOCKS_DIFFER_MS);
  return { ...backFrom(last, address, send), offsetIn };
}

async function* candidates(
  store: Store,
  workspace: Workspace,
  { fromMs, earliestMs, isBack, entry: only, endsAt }: Search,
  looks: Looks,
): AsyncGenerator<LoggedEntry> {
  if (only !== undefined) return yield* await readEntries(store, workspace, [only]);
  let own = AT_ONCE;
  const mayGoOn = () => --own > 0 || looks.left-- > 0;
  const from = `${Math.max(fromMs, 0)}`;
  let end = isBack ? from : undefined;
  for await (const entry of isBack ? [] : walk(store, workspace, { from, isBack: false })) {
    yield entry;
    if (endsAt?.(entry)) end = entry.id;
    if (end !== undefined) break;
    if (!mayGoOn()) return;
  }
  // Not there yet.
  if (endsAt) end ??= from;
  if (end === undefined) return;
  for await (const entry of walk(store, workspace, { from: end, isBack: true })) {
    // By when it came into the log: what others told late is of a time long before.
    if (entryMs(entry.id) < earliestMs - CLOCKS_DIFFER_MS) return;
    yield entry;
    if (!mayGoOn()) return;
  }
}

async function* walk(
  store: Store,
  workspace: Workspace,
  { from, isBack }: { from: string; isBack: boolean },
): AsyncGenerator<LoggedEntry> {
  const { eventLog } = workspaceKeys(store.space, workspace);
  for (let next = from; ; ) {
    const rows = isBack
      ? await store.redis.xrevrangeBuffer(eventLog, next, '-', 'COUNT', AT_ONCE)
      : await store.redis.xrangeBuffer(eventLog, next, '+', 'COUNT', AT_ONCE);
    for (const [id, [, value]] of rows) yield Object.assign(openKnown(value!), { id: id.toString() });
    if (rows.length < AT_ONCE) return;
    next = `(${rows.at(-1)![0].toString()}`;
  }
}

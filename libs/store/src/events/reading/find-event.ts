import { compareEntries } from '@gateway/contracts/events/cursor';
import { openEntry } from '@gateway/contracts/events/entry';
import { type EventIdParts, parseEventId } from '@gateway/contracts/events/event-id';
import { EVENT_TYPES, type GatewayEvent } from '@gateway/contracts/events/events';
import {
  type DeviceAddress,
  type DeviceId,
  parseMessageId,
  type SendTag,
  type Workspace,
} from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { sendKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { systemClock } from '@gateway/runtime/clock';
import type { Store } from '../../core/store.js';
import { findDeviceByShortId, readIdKey } from '../../devices/devices.js';
import { readArrival } from '../../inbound/received-messages.js';
import { readRecipients, readRecord, type SendRecord } from '../../sends/read-send.js';
import type { LogGone, LoggedEntry } from '../read-log.js';
import { renderEvents } from '../render-events.js';

/** Where in the log an event is looked for. */
interface Search {
  /** It is not older. */
  earliestMs: number;
  /** From here on, towards now. */
  fromMs: number;
  isIn(entry: LoggedEntry): boolean;
  /** Behind this one there is none; it is looked for before it, too. */
  endsAt?(entry: LoggedEntry): boolean;
}

/** Entries that are looked through for one event: as many as one call of `GET /events` looks through. */
const MOST_ENTRIES = 10_000;
const AT_ONCE = 500;
/** The log has the clock of Redis, its events those of processes. */
const CLOCKS_DIFFER_MS = 10_000;

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
  const parts = parseEventId(id);
  const search = parts && (await planSearch(store, workspace, parts));
  if (!search) return undefined;
  for await (const entry of candidates(store, workspace, search)) {
    if (!search.isIn(entry)) continue;
    const rendered = await renderEvents(store, workspace, [entry], { ...filter, types: EVENT_TYPES });
    const found = rendered.find(({ event }) => event.id === id);
    if (found) return found.event;
  }
  const goneTo = await store.redis.hget(workspaceKeys(store.space, workspace).eventMarks, 'goneTo');
  const mayBeGone = goneTo !== null && compareEntries(`${search.earliestMs}-0`, goneTo) <= 0;
  return mayBeGone ? { oldest: { entry: goneTo, offset: 0 } } : undefined;
}

async function planSearch(store: Store, workspace: Workspace, parts: EventIdParts): Promise<Search | undefined> {
  if (parts.kind === 'timed' || parts.kind === 'logged') {
    const { place } = parts;
    if (place !== workspace && (await findDeviceByShortId(store, workspace, place)) === undefined) return undefined;
    if (parts.kind === 'timed') return { ...at(parts.atMs), isIn: ({ atMs }) => atMs === parts.atMs };
    return { ...at(Number(parts.entry.split('-')[0])), isIn: ({ id }) => id === parts.entry };
  }
  const device = await findDeviceByShortId(store, workspace, parts.shortDeviceId);
  if (device === undefined) return undefined;
  const address = { workspace, device };
  if (parts.kind === 'change') return planChange(store, address, parts);
  if (parts.kind === 'finished') {
    const { tag } = parseMessageId(parts.messageId)!;
    const send = await readRecord(store, address, tag);
    const isIn = (entry: LoggedEntry) =>
      isOf(entry, { device, tag }) && entry.parts.some(({ kind }) => kind === 'finished');
    return send?.state === 'closed' ? { ...at(await readEndMs(store, address, send)), isIn } : undefined;
  }
  const arrivedAtMs = await readArrival(store, address, parts.platformId);
  const isIn = (entry: LoggedEntry) =>
    entry.device === device &&
    entry.tag === undefined &&
    entry.parts.some((part) => part.kind === 'received' && part.platformId === parts.platformId);
  return arrivedAtMs === undefined ? undefined : { ...at(arrivedAtMs), isIn };
}

/** The time of the last change of a recipient is known; those before it are looked for from there, towards the time of the send. */
async function planChange(
  store: Store,
  address: DeviceAddress,
  { platformId, status }: EventIdParts & { kind: 'change' },
): Promise<Search | undefined> {
  const idKey = await readIdKey(store, address);
  const place = idKey && platformIds(idKey).parse(platformId);
  const send = place && (await readRecord(store, address, place.tag));
  if (!place || !send) return undefined;
  const { tag, recipient: index } = place;
  const [recipient] = await readRecipients(store, address, tag, { from: index, limit: 1 });
  if (!recipient || RECIPIENT_STATUSES.indexOf(status) > RECIPIENT_STATUSES.indexOf(recipient.status)) return undefined;
  const becomes = (wanted: string) => (entry: LoggedEntry) =>
    isOf(entry, { device: address.device, tag }) &&
    entry.parts.some(
      (part) => part.kind === 'changes' && part.changes.some((each) => each.index === index && each.status === wanted),
    );
  const last = at(recipient.atMs);
  if (status === recipient.status) return { ...last, isIn: becomes(status) };
  return { ...last, earliestMs: send.createdAtMs, isIn: becomes(status), endsAt: becomes(recipient.status) };
}

const at = (atMs: number) => ({ earliestMs: atMs, fromMs: atMs - CLOCKS_DIFFER_MS });

const isOf = (entry: LoggedEntry, { device, tag }: { device: DeviceId; tag: SendTag }) =>
  entry.device === device && entry.tag === tag;

/**
 * When a send was closed, or a little before: from then on its content lives for a fixed time. Content that no phone has goes at once, and
 * then nothing changes any more; that of a one-time password goes soon.
 */
async function readEndMs(store: Store, address: DeviceAddress, send: SendRecord): Promise<number> {
  if (send.kind === 'otp') return send.createdAtMs;
  const leftMs = await store.redis.pttl(sendKeys(store.space, address, send.tag).content);
  if (leftMs > 0) return systemClock.nowMs() + leftMs - LIMITS.sendRetentionSeconds * 1000;
  const all = await readRecipients(store, address, send.tag, { from: 0, limit: send.total });
  return all.reduce((latest, { atMs }) => Math.max(latest, atMs), send.createdAtMs);
}

async function* candidates(
  store: Store,
  workspace: Workspace,
  { fromMs, earliestMs, endsAt }: Search,
): AsyncGenerator<LoggedEntry> {
  let left = MOST_ENTRIES;
  let end: string | undefined;
  for await (const entry of walk(store, workspace, { from: `${Math.max(fromMs, 0)}`, isBack: false })) {
    if (left-- <= 0) return;
    yield entry;
    if (!endsAt?.(entry)) continue;
    end = entry.id;
    break;
  }
  if (end === undefined) return;
  for await (const entry of walk(store, workspace, { from: end, isBack: true })) {
    if (left-- <= 0 || entry.atMs < earliestMs) return;
    yield entry;
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
    for (const [id, [, value]] of rows) yield Object.assign(openEntry(value!), { id: id.toString() });
    if (rows.length < AT_ONCE) return;
    next = `(${rows.at(-1)![0].toString()}`;
  }
}

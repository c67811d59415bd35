import { createHash } from 'node:crypto';
import type { LogPlace } from '@gateway/contracts/events/cursor';
import { type EventPart, type RecipientChange, weightOf } from '@gateway/contracts/events/entry';
import { escapeId } from '@gateway/contracts/events/event-id';
import { type ChangeData, DEFAULT_TYPES, type GatewayEvent } from '@gateway/contracts/events/events';
import { type DeviceId, shortDeviceId, type Workspace } from '@gateway/contracts/ids';
import { hasShard, type ShardFilter, shardOfEvent } from '@gateway/contracts/shards';
import { DISABLED_AFTER_MS } from '@gateway/contracts/webhooks/breaker';
import type { Store } from '../core/store.js';
import { describeReceived } from './describe-received.js';
import type { LoggedEntry } from './read-log.js';
import { type AskedPart, type ChangeShape, shapeOf, UPDATED, type Wanted, wantedOf } from './reading/change-shapes.js';
import { gatherGaps, type ToldGapCause } from './reading/gaps.js';
import { SendsOfEvents } from './sends-of-events.js';

export interface EventFilter {
  /** Default `DEFAULT_TYPES`. */
  types?: readonly string[];
  /** Of these devices only; without it of all, and of the workspace itself. */
  devices?: readonly DeviceId[];
  /** While the node of some shards is away, and afterwards what they had to tell meanwhile. */
  shards?: ShardFilter;
  /** Changes that are told together have no id as one event yet: they get it with others (`updateOf`). */
  leavesOutIds?: boolean;
  /** How what people wrote is looked up. Default: each for itself. */
  describe?: typeof describeReceived;
}

export interface RenderedEvent {
  event: GatewayEvent;
  /** Where one is who has this event. */
  place: LogPlace;
  /** See `DescribedMessage`. */
  lostContent?: true;
}

/** Changes that come in one event at most, and that are described in one turn of the event loop: it takes some milliseconds. */
const MOST_ROWS = 500;

/**
 * The events of log entries, the same bytes whenever they are asked for, as long as what they tell of is kept. A change of recipients
 * is a row of `messages.updated`, an event of its own (`message.<status>`) if that type is wanted, and of one-time passwords
 * `otp.<status>` only. An entry of ten thousand changes is looked up as far as its events are taken.
 *
 * @param taken how far one is in the first entry: what came before that may be left out.
 */
export async function* eachEvent(
  store: Store,
  workspace: Workspace,
  entries: readonly LoggedEntry[],
  { taken = 0, ...filter }: EventFilter & { taken?: number } = {},
): AsyncGenerator<RenderedEvent> {
  const eachOf = entryReader(store, workspace, filter);
  let former = '0-0';
  const each = async function* () {
    for (const entry of entries) {
      const at = { entry: entry.id, entries: 1 };
      // The last of an entry ends it.
      let held: EntryEvent | undefined;
      const from = entry === entries[0] ? taken : 0;
      for await (const event of eachOf(entry, from)) {
        if (event.end <= from) continue;
        if (held) yield { ...held, ...at, place: { entry: former, offset: held.end } };
        held = event;
      }
      if (held) yield { ...held, ...at, place: { entry: entry.id, offset: 0 } };
      former = entry.id;
    }
  };
  yield* gatherGaps(each(), { most: entries.length });
}

/** Those of one entry after the other: what several of them tell of is looked up once. Throws `ShardsAwayError` where that is away. */
export function entryReader(
  store: Store,
  workspace: Workspace,
  filter: EventFilter = {},
): (entry: LoggedEntry, taken: number, asked?: readonly AskedPart[]) => AsyncGenerator<EntryEvent> {
  const wanted = wantedOf(filter.types ?? DEFAULT_TYPES);
  const sends = new SendsOfEvents(store);
  const { leavesOutIds = false, describe = describeReceived } = filter;
  return async function* (entry, taken, asked) {
    if (!isWanted(workspace, entry, filter)) return;
    const events = eachOfEntry({ store, workspace, sends, wanted, taken, asked, leavesOutIds, describe }, entry);
    const { device } = entry;
    if (device === undefined) return yield* events;
    const next = () => store.awayShards.read({ workspace, device }, () => events.next());
    for (let each = await next(); !each.done; each = await next()) yield each.value;
  };
}

/** Whether it may tell something of it. */
export function isWanted(workspace: Workspace, entry: LoggedEntry, { devices, shards }: EventFilter): boolean {
  const { device, parts } = entry;
  if (shards && !isOfShards(shards, shardOfEvent({ workspace, device }))) return false;
  if (parts.some(({ kind }) => kind === 'gap')) return true;
  return devices === undefined || (device !== undefined && devices.includes(device));
}

const isOfShards = (shards: ShardFilter, shard: number): boolean =>
  'only' in shards ? hasShard(shards.only, shard) : !hasShard(shards.without, shard);

interface Rendering {
  store: Store;
  workspace: Workspace;
  sends: SendsOfEvents;
  wanted: Wanted;
  /** Of this entry. */
  taken: number;
  /** How what came up to there was told, if that counts. */
  asked: readonly AskedPart[] | undefined;
  leavesOutIds: boolean;
  describe: typeof describeReceived;
}

/** An event, and how far one is in its entry who has it: the same number whatever types are asked for. */
export interface EntryEvent {
  event: GatewayEvent;
  /** Of each change first what tells it alone, then what tells it with others. */
  end: number;
  /** Of what a person wrote: see `DescribedMessage`. */
  writer?: string;
  /** The same. */
  lostContent?: true;
  /** Of changes that are told together: how far one is who was told each of them alone, as another type was asked for. */
  rowEnds?: number[];
  /** And which of them are told alone, too. */
  areTwice?: boolean[];
  /** Nor is any other change: one may be in the middle of them. */
  areTogetherOnly?: true;
  /** That something is missing, and why, if that was not found out before. */
  gap?: ToldGapCause;
}

async function* eachOfEntry(rendering: Rendering, entry: LoggedEntry): AsyncGenerator<EntryEvent> {
  const missing = await countMissing(rendering, entry);
  if (missing > 0) {
    const all = entry.parts.reduce((sum, part) => sum + weightOf(part), 0);
    // Who asks for other types misses other things: that is another event.
    const of = missing < all ? `${entry.id}_${missing}` : entry.id;
    yield { event: gapOf(rendering.workspace, { ...entry, id: of }, missing), end: 2 * all, gap: 'send_gone' };
    return;
  }
  let before = 0;
  for (const part of entry.parts) {
    if (part.kind === 'changes') yield* eachOfChanges(rendering, entry, { part, before });
    else if (TYPES[part.kind].some((type) => rendering.wanted.types.has(type))) {
      for (const told of await renderOther(rendering, entry, part)) {
        if (rendering.wanted.types.has(told.event.type)) yield { ...told, end: before + 2 };
      }
    }
    before += 2 * (part.kind === 'changes' ? part.changes.length : 1);
  }
}

/** Changes of a send that was forgotten before its time, for room: what they were cannot be said any more, and that is told. */
async function countMissing({ workspace, sends, wanted }: Rendering, entry: LoggedEntry): Promise<number> {
  const { device, tag, parts } = entry;
  if (device === undefined || tag === undefined) return 0;
  const counts = parts.map((part) => {
    if (part.kind === 'changes') return wanted.hasChanges ? part.changes.length : 0;
    return part.kind === 'finished' && wanted.types.has('send.finished') ? 1 : 0;
  });
  const count = counts.reduce((sum, each) => sum + each, 0);
  return count > 0 && !(await sends.find({ workspace, device }, tag)) ? count : 0;
}

async function* eachOfChanges(
  rendering: Rendering,
  entry: LoggedEntry,
  { part: { changes }, before }: { part: EventPart & { kind: 'changes' }; before: number },
): AsyncGenerator<EntryEvent> {
  const { workspace, sends, wanted, taken, leavesOutIds } = rendering;
  if (entry.device === undefined || entry.tag === undefined || !wanted.hasChanges) return;
  const address = { workspace, device: entry.device };
  const send = await sends.find(address, entry.tag);
  if (!send) return;
  const name = send.kind === 'otp' ? 'otp' : 'message';
  const tellsAlone = wanted.alone[name].size > 0;
  for (let from = 0; from < changes.length; from += MOST_ROWS) {
    const some = changes.slice(from, from + MOST_ROWS);
    const end = before + 2 * (from + some.length);
    if (end <= taken) continue;
    const told: ToldChange[] = [];
    for (let i = 0; i < some.length; i++) {
      const change = some[i]!;
      const place = before + 2 * (from + i) + 1;
      const shape = shapeOf(rendering, name, change.status, place);
      if (shape.isAlone || shape.isTogether) told.push({ change, shape, end: place });
    }
    if (told.length === 0) continue;
    const areTogetherOnly = tellsAtOnce(told, end) || !tellsAlone;
    const rows = await sends.describe(address, send, { changes: told.map(({ change }) => change), atMs: entry.atMs });
    const together: ChangeData[] = [];
    const rowEnds: number[] = [];
    const areTwice: boolean[] = [];
    for (let i = 0; i < rows.length; i++) {
      const [row, { shape, end }] = [rows[i]!, told[i]!];
      if (shape.isAlone) yield { event: ofRow(entry, `${name}.${row.status}`, row), end };
      if (!shape.isTogether) continue;
      together.push(row);
      rowEnds.push(end);
      areTwice.push(shape.isTwice);
    }
    if (together.length === 0) continue;
    const event = leavesOutIds
      ? eventOf(entry, { id: '', type: UPDATED, data: { changes: together } })
      : updateOf(entry, together);
    yield areTogetherOnly ? { event, end, rowEnds, areTwice, areTogetherOnly } : { event, end, rowEnds, areTwice };
  }
}

interface ToldChange {
  change: RecipientChange;
  shape: ChangeShape;
  end: number;
}

/**
 * Where something is owed, as other types were asked for when it was passed, all that is left is told at once, in the order in which it
 * came: one recipient may have several. Who asks for both ways is told together what else would come before what is owed. Answers whether it is.
 */
function tellsAtOnce(told: ToldChange[], end: number): boolean {
  if (!told.some(({ shape }) => shape.isOwed)) return false;
  for (const each of told) {
    const { isAlone, isTogether } = each.shape;
    if (isAlone && isTogether) each.shape = { ...each.shape, isAlone: false, isTwice: false };
    each.end = end;
  }
  return true;
}

const ofRow = (entry: LoggedEntry, type: string, row: ChangeData): GatewayEvent =>
  eventOf(entry, { id: row.id, type, data: { ...row } });

/** Several changes as one event, whose id follows from theirs: no two that differ in one of them have the same. */
export function updateOf(entry: Pick<LoggedEntry, 'atMs' | 'device'>, changes: ChangeData[]): GatewayEvent {
  const ids = changes.map(({ id }) => id).join(' ');
  const id = `evt_${createHash('sha256').update(ids).digest('hex').slice(0, 32)}`;
  return eventOf(entry, { id, type: UPDATED, data: { changes } });
}

/** What a part may be told as: of one that is not wanted nothing is looked up. */
const TYPES: Record<Exclude<EventPart['kind'], 'changes'>, readonly string[]> = {
  finished: ['send.finished'],
  device: ['device.connected', 'device.interrupted', 'device.disconnected'],
  restriction: ['device.restricted', 'device.unrestricted'],
  received: ['message.received'],
  optOuts: ['optout.added', 'optout.removed'],
  gap: ['events.gap'],
  webhook: ['webhook.failing', 'webhook.recovered', 'webhook.disabled'],
};

async function renderOther(
  { store, workspace, sends, wanted, describe }: Rendering,
  entry: LoggedEntry,
  part: Exclude<EventPart, { kind: 'changes' }>,
): Promise<Pick<EntryEvent, 'event' | 'writer' | 'lostContent' | 'gap'>[]> {
  const address = { workspace, device: entry.device ?? '' };
  const short = entry.device === undefined ? workspace : shortDeviceId(address);
  const at = iso(entry.atMs);
  const make = (name: string, type: string, data: Record<string, unknown>) => [
    { event: eventOf(entry, { id: `evt_${short}_${name}`, type, data }) },
  ];
  switch (part.kind) {
    case 'finished': {
      const send = entry.tag === undefined ? undefined : await sends.find(address, entry.tag);
      // A code is told of by its changes alone.
      if (!send || send.kind === 'otp') return [];
      const { messageId, requestId, total } = send;
      const data = { messageId, requestId, recipients: total, counts: part.counts };
      return [{ event: eventOf(entry, { id: `evt_${messageId}_finished`, type: 'send.finished', data }) }];
    }
    case 'device': {
      const { status, reason = null, phone = null, name = null, notBeforeMs } = part;
      const id = `${entry.atMs}_${status}`;
      if (status === 'connected') return make(id, 'device.connected', { status, phone, name, since: at });
      if (status === 'disconnected') return make(id, 'device.disconnected', { status, reason, phone, since: at });
      const notBefore = notBeforeMs === undefined ? null : iso(notBeforeMs);
      return make(id, 'device.interrupted', { status, reason: reason ?? 'network', notBefore });
    }
    case 'restriction': {
      const { restriction, untilMs } = part;
      if (!restriction) return make(`${entry.atMs}_unrestricted`, 'device.unrestricted', {});
      const until = untilMs === undefined ? null : iso(untilMs);
      return make(`${entry.atMs}_restricted`, 'device.restricted', { kind: restriction, until });
    }
    case 'received': {
      const { receivedId } = part;
      const { data, ...of } = await describe(store, address, { receivedId, arrivedAtMs: entry.atMs });
      return make(`${escapeId(receivedId)}_received`, 'message.received', data).map((told) => ({ ...told, ...of }));
    }
    case 'optOuts': {
      const { isAdded, phones, source } = part;
      const what = isAdded ? 'added' : 'removed';
      const type = `optout.${what}`;
      // Someone in it was forgotten.
      if (phones.length === 0) {
        return wanted.types.has(type) ? [{ event: gapOf(workspace, entry, 1), gap: 'erased' }] : [];
      }
      // Nothing that follows from the numbers: an endpoint that gets them masked could try all that there are.
      return make(`${entry.id}_${what}`, type, { phones, source });
    }
    case 'gap':
      return [{ event: gapOf(workspace, entry, part.missing) }];
    case 'webhook': {
      const { state, webhookId, sinceMs, lastStatus = null } = part;
      const disabledAt = iso(sinceMs + DISABLED_AFTER_MS);
      const data = { webhookId, since: iso(sinceMs), lastStatus, ...(state === 'failing' && { disabledAt }) };
      return make(`${entry.id}_${state}`, `webhook.${state}`, data);
    }
  }
}

const gapOf = (workspace: Workspace, { id, atMs }: LoggedEntry, missing: number | null): GatewayEvent =>
  eventOf({ atMs }, { id: `evt_${workspace}_${id}_gap`, type: 'events.gap', data: { missing } });
const iso = (ms: number) => new Date(ms).toISOString();

function eventOf(
  { atMs, device }: Pick<LoggedEntry, 'atMs' | 'device'>,
  { id, type, data }: Pick<GatewayEvent, 'id' | 'type' | 'data'>,
): GatewayEvent {
  return { id, type, version: 1, timestamp: iso(atMs), device: device ?? null, data };
}

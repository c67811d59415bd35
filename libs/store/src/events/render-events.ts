import { createHash } from 'node:crypto';
import type { LogPlace } from '@gateway/contracts/events/cursor';
import type { EventPart } from '@gateway/contracts/events/entry';
import { escapeId } from '@gateway/contracts/events/event-id';
import { type ChangeData, DEFAULT_TYPES, type GatewayEvent } from '@gateway/contracts/events/events';
import { type DeviceId, shortDeviceId, type Workspace } from '@gateway/contracts/ids';
import { DISABLED_AFTER_MS } from '@gateway/contracts/webhooks/breaker';
import type { Store } from '../core/store.js';
import { describeReceived } from './describe-received.js';
import type { LoggedEntry } from './read-log.js';
import { SendsOfEvents } from './sends-of-events.js';

export interface EventFilter {
  /** Default `DEFAULT_TYPES`. */
  types?: readonly string[];
  /** Of these devices only; without it of all, and of the workspace itself. */
  devices?: readonly DeviceId[];
}

export interface RenderedEvent {
  event: GatewayEvent;
  /** Where one is who has this event. */
  place: LogPlace;
}

/** Changes that come in one event at most. */
const MOST_ROWS = 500;

/**
 * The events of log entries, the same bytes whenever they are asked for, as long as what they tell of is kept. A change of recipients
 * is a row of `messages.updated`, an event of its own (`message.<status>`) if that type is wanted, and of one-time passwords
 * `otp.<status>` only.
 */
export async function renderEvents(
  store: Store,
  workspace: Workspace,
  entries: readonly LoggedEntry[],
  filter: EventFilter = {},
): Promise<RenderedEvent[]> {
  // That something is missing is told to all.
  const wanted = new Set([...(filter.types ?? DEFAULT_TYPES), 'events.gap']);
  const sends = new SendsOfEvents(store);
  const rendered: RenderedEvent[] = [];
  let former = '0-0';
  for (const entry of entries) {
    const events = isWanted(entry, filter) ? await renderEntry({ store, workspace, sends, wanted }, entry) : [];
    for (const [index, { event, end }] of events.entries()) {
      const isLast = index === events.length - 1;
      rendered.push({ event, place: isLast ? { entry: entry.id, offset: 0 } : { entry: former, offset: end } });
    }
    former = entry.id;
  }
  return rendered;
}

function isWanted({ device, parts }: LoggedEntry, { devices }: EventFilter): boolean {
  if (parts.some(({ kind }) => kind === 'gap')) return true;
  return devices === undefined || (device !== undefined && devices.includes(device));
}

interface Rendering {
  store: Store;
  workspace: Workspace;
  sends: SendsOfEvents;
  wanted: ReadonlySet<string>;
}

/** An event, and how far one is in its entry who has it: the same number whatever types are asked for. */
interface Ending {
  event: GatewayEvent;
  /** Of each change first what tells it alone, then what tells it with others. */
  end: number;
}

async function renderEntry(rendering: Rendering, entry: LoggedEntry): Promise<Ending[]> {
  const endings: Ending[] = [];
  let before = 0;
  for (const part of entry.parts) {
    const ofPart =
      part.kind === 'changes'
        ? await renderChanges(rendering, entry, part)
        : (await renderOther(rendering, entry, part)).map((event) => ({ event, end: 2 }));
    for (const { event, end } of ofPart) {
      if (rendering.wanted.has(event.type)) endings.push({ event, end: before + end });
    }
    before += 2 * (part.kind === 'changes' ? part.changes.length : 1);
  }
  return endings;
}

async function renderChanges(
  { workspace, sends, wanted }: Rendering,
  entry: LoggedEntry,
  { changes }: EventPart & { kind: 'changes' },
): Promise<Ending[]> {
  if (entry.device === undefined || entry.tag === undefined || !wantsChanges(wanted)) return [];
  const address = { workspace, device: entry.device };
  const send = await sends.find(address, entry.tag);
  if (!send) return [];
  const rows = await sends.describe(address, send, { changes, atMs: entry.atMs });
  const name = send.kind === 'otp' ? 'otp' : 'message';
  const alone = rows.map((row, i) => ({ event: ofRow(entry, `${name}.${row.status}`, row), end: 2 * i + 1 }));
  if (send.kind === 'otp' || !wanted.has('messages.updated')) return alone;
  const together: Ending[] = [];
  for (let from = 0; from < rows.length; from += MOST_ROWS) {
    const some = rows.slice(from, from + MOST_ROWS);
    together.push({ event: updateOf(entry, some), end: 2 * (from + some.length) });
  }
  return [...alone, ...together].sort((a, b) => a.end - b.end);
}

/** Otherwise nothing is looked up for them. */
const wantsChanges = (wanted: ReadonlySet<string>) =>
  [...wanted].some((type) => /^(messages|otp)\.|^message\.(?!received)/.test(type));

const ofRow = (entry: LoggedEntry, type: string, row: ChangeData): GatewayEvent =>
  eventOf(entry, { id: row.id, type, data: { ...row } });

/** Several changes as one event, whose id follows from theirs: no two that differ in one of them have the same. */
export function updateOf(entry: Pick<LoggedEntry, 'atMs' | 'device'>, changes: ChangeData[]): GatewayEvent {
  const ids = changes.map(({ id }) => id).join(' ');
  const id = `evt_${createHash('sha256').update(ids).digest('hex').slice(0, 32)}`;
  return eventOf(entry, { id, type: 'messages.updated', data: { changes } });
}

async function renderOther(
  { store, workspace, sends }: Rendering,
  entry: LoggedEntry,
  part: Exclude<EventPart, { kind: 'changes' }>,
): Promise<GatewayEvent[]> {
  const address = { workspace, device: entry.device ?? '' };
  const short = entry.device === undefined ? workspace : shortDeviceId(address);
  const at = iso(entry.atMs);
  const make = (name: string, type: string, data: Record<string, unknown>) => [
    eventOf(entry, { id: `evt_${short}_${name}`, type, data }),
  ];
  switch (part.kind) {
    case 'finished': {
      const send = entry.tag === undefined ? undefined : await sends.find(address, entry.tag);
      if (!send) return [];
      const { messageId, requestId, total } = send;
      const data = { messageId, requestId, recipients: total, counts: part.counts };
      return [eventOf(entry, { id: `evt_${messageId}_finished`, type: 'send.finished', data })];
    }
    case 'device': {
      const { status, reason = null, phone = null, name = null, notBeforeMs } = part;
      const id = `${entry.atMs}_${status}`;
      if (status === 'connected') return make(id, 'device.connected', { status, phone, name, since: at });
      if (status === 'disconnected') return make(id, 'device.disconnected', { status, reason, since: at });
      const notBefore = notBeforeMs === undefined ? null : iso(notBeforeMs);
      return make(id, 'device.interrupted', { status, reason: reason ?? 'network', notBefore });
    }
    case 'restriction': {
      const { restriction, untilMs } = part;
      if (!restriction) return make(`${entry.atMs}_unrestricted`, 'device.unrestricted', {});
      const until = untilMs === undefined ? null : iso(untilMs);
      return make(`${entry.atMs}_restricted`, 'device.restricted', { kind: restriction, until });
    }
    case 'received':
      return make(`${escapeId(part.platformId)}_received`, 'message.received', {
        ...(await describeReceived(store, address, { platformId: part.platformId, arrivedAtMs: entry.atMs })),
      });
    case 'optOuts': {
      const { isAdded, phones, source } = part;
      const what = isAdded ? 'added' : 'removed';
      return make(`${entry.atMs}_${digestOf(phones)}_${what}`, `optout.${what}`, { phones, source });
    }
    case 'gap':
      return make(`${entry.id}_gap`, 'events.gap', { missing: part.missing });
    case 'webhook': {
      const { state, webhookId, sinceMs, lastStatus = null } = part;
      const disabledAt = iso(sinceMs + DISABLED_AFTER_MS);
      const data = { webhookId, since: iso(sinceMs), lastStatus, ...(state === 'failing' && { disabledAt }) };
      return make(`${entry.id}_${state}`, `webhook.${state}`, data);
    }
  }
}

const digestOf = (phones: readonly string[]) => createHash('sha256').update(phones.join()).digest('hex').slice(0, 16);
const iso = (ms: number) => new Date(ms).toISOString();

function eventOf(
  { atMs, device }: Pick<LoggedEntry, 'atMs' | 'device'>,
  { id, type, data }: Pick<GatewayEvent, 'id' | 'type' | 'data'>,
): GatewayEvent {
  return { id, type, version: 1, timestamp: iso(atMs), device: device ?? null, data };
}

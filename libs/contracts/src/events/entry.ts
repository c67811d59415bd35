import type { DeviceStatus, Reason } from '../devices/device-state.js';
import type { RestrictionKind } from '../devices/restriction.js';
import type { DeviceId, SendTag } from '../ids.js';
import { LIMITS } from '../limits.js';
import { OPT_OUT_SOURCES, type OptOutSource } from '../people/opt-outs.js';
import { RECIPIENT_STATUSES, type RecipientStatus, type StatusCounts } from '../sends/statuses.js';

/**
 * What changed, as Redis keeps it: written by Lua in the step that changes it (libs/store/src/events/telling/outbox.lua), copied into the
 * log of the workspace as it is, and read here. No text and no number of a recipient is in it: those are looked up when it is told.
 *
 * `version, ms (6 bytes), place`, then parts, each behind a byte that says what it is. The place is a byte, with the class (`LISTS`), whether
 * a send's tag is there (`OF_SEND`) and the length of the device's name; the name, empty for what concerns the workspace; and the tag in 7 bytes.
 */
export const EVENT_ENTRY_VERSION = 2;

/** Stays in a log for a week: `version, class, ms (6 bytes), length of the place, place`; the place of a send is `device/tag`. */
const FORMER_VERSION = 1;
export const READ_ENTRY_VERSIONS: readonly number[] = [FORMER_VERSION, EVENT_ENTRY_VERSION];

/** Version, ms and place. */
const HEAD_BYTES = 8;
/** Of the byte of a place; a device's name is shorter than 64. */
export const PLACE = { lists: 128, ofSend: 64 } as const;

/** With as many entries, or bytes, an outbox takes no more in, and it is counted how many are missing. */
export const OUTBOX_ENTRIES = 200_000;
export const OUTBOX_BYTES = 16 * 1024 * 1024;
/** How many bytes it has is looked at once in as many entries. */
export const OUTBOX_WEIGHED_EVERY = 256;

/** The log has the clock of Redis, its entries those of processes. */
export const CLOCKS_DIFFER_MS = 10_000;

/** How long a workspace's log goes back, and how large it gets. */
export const EVENT_LOG = { keptMs: LIMITS.sendRetentionSeconds * 1000, bytes: 256 * 1024 * 1024 } as const;
/** A send can be looked up for a day longer than the log tells of it. */
export const EVENTS_KEPT_MS = EVENT_LOG.keptMs + 24 * 60 * 60_000;

/** `prompt` is told at once; `lists` may be gathered. */
export const EVENT_CLASSES = ['prompt', 'lists'] as const;
export type EventClass = (typeof EVENT_CLASSES)[number];

/** Append only. */
export const PARTS = {
  changes: 1,
  moved: 2,
  /** Of the former version, with all counts. */
  finished: 3,
  device: 4,
  restriction: 5,
  received: 6,
  optOuts: 7,
  gap: 8,
  webhook: 9,
  change: 10,
  ended: 11,
} as const;

/** What the others are told of an endpoint. Append only. */
export const WEBHOOK_TOLD = ['failing', 'recovered', 'disabled'] as const;
export type WebhookTold = (typeof WEBHOOK_TOLD)[number];

/** A recipient that has another status. */
export interface RecipientChange {
  index: number;
  status: RecipientStatus;
  /** 0 without one: see recipient-errors.ts. */
  errorCode: number;
}

export type EventPart =
  | { kind: 'changes'; changes: RecipientChange[] }
  | { kind: 'finished'; counts: StatusCounts }
  | { kind: 'device'; status: DeviceStatus; reason?: Reason; phone?: string; name?: string; notBeforeMs?: number }
  | { kind: 'restriction'; restriction?: RestrictionKind; untilMs?: number }
  /** See received-id.ts. */
  | { kind: 'received'; receivedId: string }
  /** `phones`: digits, or `digits@lid`; none where someone among them was forgotten on request. */
  | { kind: 'optOuts'; isAdded: boolean; source: OptOutSource; phones: string[] }
  /** So many changes are missing; `null`: it is not known how many. */
  | { kind: 'gap'; missing: number | null }
  /** `lastStatus`: of HTTP; without it nothing was answered. */
  | { kind: 'webhook'; state: WebhookTold; webhookId: string; sinceMs: number; lastStatus?: number };

/** What there is to tell of a part: of ten thousand recipients, or of a thousand people who were put on a list at once. */
export function weightOf(part: EventPart): number {
  if (part.kind === 'changes') return part.changes.length;
  return part.kind === 'optOuts' ? part.phones.length : 1;
}

export interface EventEntry {
  class: EventClass;
  atMs: number;
  device?: DeviceId;
  /** Of a send. */
  tag?: SendTag;
  parts: EventPart[];
}

const WITH_ERROR = 128;
/** As the list of opt-outs has people without a number: `-` and the digits of their hidden identifier. */
const toPerson = (field: string) => (field.startsWith('-') ? `${field.slice(1)}@lid` : field);

/** Throws for an entry of another version, or one that is cut off. */
export function readEntry(bytes: Buffer): EventEntry {
  const read = new Reader(bytes);
  const entry = readHead(read);
  while (!read.isAtEnd) entry.parts.push(readPart(read));
  return entry;
}

/** Of an entry what it takes to know whether its time has come. */
export interface EntryOutline extends Pick<EventEntry, 'class' | 'atMs'> {
  /** Of recipients; `undefined` if it tells of anything else, too. */
  changes: number | undefined;
}

/** Of many entries, again and again: nothing is made of what they tell, nor of whom. */
export function outlineOf(bytes: Buffer): EntryOutline {
  const read = new Reader(bytes);
  const { class: kind, atMs, placeBytes } = readStart(read);
  read.pass(placeBytes);
  return { class: kind, atMs, changes: countChanges(read) };
}

/** When it happened, and whether it may be gathered. */
export function startOf(bytes: Buffer): Pick<EventEntry, 'class' | 'atMs'> {
  const { class: kind, atMs } = readStart(new Reader(bytes));
  return { class: kind, atMs };
}

/**
 * The same, for those who look for one among many: its parts are read when they are asked for, and again each time. Ten
 * thousand changes take a millisecond.
 */
export function openEntry(bytes: Buffer): EventEntry {
  const head = readHead(new Reader(bytes));
  return {
    ...head,
    get parts() {
      return readEntry(bytes).parts;
    },
  };
}

/** Whether an entry may be gathered, without taking it apart: one of another version may not. */
export function mayWait(bytes: Buffer): boolean {
  return bytes[0] === EVENT_ENTRY_VERSION && (bytes[HEAD_BYTES - 1]! & PLACE.lists) !== 0;
}

interface Start extends Pick<EventEntry, 'class' | 'atMs'> {
  /** What follows: the device, and behind it the tag; of the former version as one text. */
  placeBytes: number;
  hasTag: boolean;
  isFormer: boolean;
}

/** What comes before the place of an entry. */
function readStart(read: Reader): Start {
  const version = read.byte();
  if (!READ_ENTRY_VERSIONS.includes(version)) throw new Error(`an event of version ${version}`);
  if (version === FORMER_VERSION) {
    const [kind, atMs] = [EVENT_CLASSES[read.byte()] ?? 'prompt', read.number(6)];
    return { class: kind, atMs, placeBytes: read.byte(), hasTag: false, isFormer: true };
  }
  const [atMs, place] = [read.number(6), read.byte()];
  const hasTag = (place & PLACE.ofSend) !== 0;
  const placeBytes = (place % PLACE.ofSend) + (hasTag ? TAG_BYTES : 0);
  return { class: place & PLACE.lists ? 'lists' : 'prompt', atMs, placeBytes, hasTag, isFormer: false };
}

/** An entry without its parts. */
function readHead(read: Reader): EventEntry {
  const { class: kind, atMs, placeBytes, hasTag, isFormer } = readStart(read);
  const entry: EventEntry = { class: kind, atMs, parts: [] };
  const place = read.bytes(placeBytes);
  if (isFormer) return headOf(entry, ...(place.toString().split('/') as [DeviceId, SendTag?]));
  const end = hasTag ? placeBytes - TAG_BYTES : placeBytes;
  return headOf(entry, place.toString('utf8', 0, end), hasTag ? place.toString('hex', end).slice(1) : undefined);
}

function headOf(entry: EventEntry, device?: DeviceId, tag?: SendTag): EventEntry {
  if (device) entry.device = device;
  if (tag) entry.tag = tag;
  return entry;
}

/** 13 hex digits, behind four bits that are empty. */
const TAG_BYTES = 7;

function readPart(read: Reader): EventPart {
  const kind = read.byte();
  switch (kind) {
    case PARTS.changes:
      return { kind: 'changes', changes: Array.from({ length: read.number(2) }, () => readChange(read)) };
    case PARTS.change:
      return { kind: 'changes', changes: [readChange(read)] };
    case PARTS.moved:
      return { kind: 'changes', changes: readMoved(read) };
    case PARTS.finished:
      return {
        kind: 'finished',
        counts: Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, read.number(2)])) as StatusCounts,
      };
    case PARTS.ended:
      return { kind: 'finished', counts: readCounts(read) };
    case PARTS.device:
      return { kind: 'device', ...readDevice(read) };
    case PARTS.restriction: {
      const [restriction, untilMs] = [read.text(), read.number(6)];
      return {
        kind: 'restriction',
        ...(restriction && { restriction: restriction as RestrictionKind }),
        ...(untilMs && { untilMs }),
      };
    }
    case PARTS.received:
      return { kind: 'received', receivedId: read.text() };
    case PARTS.optOuts: {
      const [isAdded, source, count] = [read.byte() === 1, OPT_OUT_SOURCES[read.byte()]!, read.number(2)];
      return { kind: 'optOuts', isAdded, source, phones: Array.from({ length: count }, () => toPerson(read.text())) };
    }
    case PARTS.gap:
      return { kind: 'gap', missing: read.number(4) || null };
    case PARTS.webhook: {
      const [state, webhookId] = [WEBHOOK_TOLD[read.byte()]!, read.text()];
      const [sinceMs, lastStatus] = [read.number(6), read.number(2)];
      return { kind: 'webhook', state, webhookId, sinceMs, ...(lastStatus && { lastStatus }) };
    }
    default:
      throw new Error(`an event with a part ${kind}`);
  }
}

function countChanges(read: Reader): number | undefined {
  let count = 0;
  while (!read.isAtEnd) {
    const kind = read.byte();
    if (kind === PARTS.change) count += passChanges(read, 1);
    else if (kind === PARTS.changes) count += passChanges(read, read.number(2));
    else if (kind === PARTS.moved) count += countMoved(read);
    else return undefined;
  }
  return count;
}

function passChanges(read: Reader, count: number): number {
  for (let i = 0; i < count; i++) {
    read.pass(2);
    if (read.byte() >= WITH_ERROR) read.pass(2);
  }
  return count;
}

function readChange(read: Reader): RecipientChange {
  const [index, code] = [read.number(2), read.byte()];
  return { index, status: RECIPIENT_STATUSES[code % WITH_ERROR]!, errorCode: code >= WITH_ERROR ? read.number(2) : 0 };
}

/** A bit for each status that has recipients, by its code; then how many each of these has. */
function readCounts(read: Reader): StatusCounts {
  const has = read.byte();
  const counts = RECIPIENT_STATUSES.map((status, code) => [status, has & (1 << code) ? read.number(2) : 0]);
  return Object.fromEntries(counts) as StatusCounts;
}

function readMoved(read: Reader): RecipientChange[] {
  const status = RECIPIENT_STATUSES[read.byte()]!;
  const [errorCode, first] = [read.number(2), read.number(2)];
  const bitmap = read.bytes(read.number(2));
  const changes: RecipientChange[] = [];
  for (let byte = 0; byte < bitmap.length; byte++) {
    for (let bit = 0; bit < 8; bit++) {
      if (bitmap[byte]! & (1 << bit)) changes.push({ index: (first + byte) * 8 + bit, status, errorCode });
    }
  }
  return changes;
}

function countMoved(read: Reader): number {
  read.pass(5);
  let count = 0;
  for (const bits of read.bytes(read.number(2))) for (let left = bits; left > 0; left &= left - 1) count++;
  return count;
}

function readDevice(read: Reader) {
  const [status, reason, phone, name, notBeforeMs] = [
    read.text(),
    read.text(),
    read.text(),
    read.text(),
    read.number(6),
  ];
  return {
    status: status as DeviceStatus,
    ...(reason && { reason: reason as Reason }),
    ...(phone && { phone }),
    ...(name && { name }),
    ...(notBeforeMs && { notBeforeMs }),
  };
}

class Reader {
  #at = 0;

  constructor(private readonly source: Buffer) {}

  get isAtEnd(): boolean {
    return this.#at >= this.source.length;
  }

  byte(): number {
    const value = this.source[this.#at];
    if (value === undefined) throw new RangeError('an event is cut off');
    this.#at++;
    return value;
  }

  pass(bytes: number): void {
    if (this.#at + bytes > this.source.length) throw new RangeError('an event is cut off');
    this.#at += bytes;
  }

  /** Unsigned, big-endian. */
  number(bytes: number): number {
    const value = this.source.readUIntBE(this.#at, bytes);
    this.#at += bytes;
    return value;
  }

  bytes(length: number): Buffer {
    this.pass(length);
    return this.source.subarray(this.#at - length, this.#at);
  }

  text(): string {
    return this.bytes(this.byte()).toString();
  }
}

import { isDeepStrictEqual } from 'node:util';
import type { Restriction } from '@gateway/contracts/devices/restriction';
import { type ChangeData, EVENT_TYPES, type GatewayEvent } from '@gateway/contracts/events/events';
import { readWish } from '@gateway/contracts/people/opt-outs';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';

/** What a person wrote, under the id that their phone gave it: two people may have the same. */
export interface Written {
  from: string;
  platformId: string;
  text: string;
}

/** What there is to be told, as Redis and the phones have it. */
export interface ToBeTold {
  /** By `messageId` and index: whom, what became of them, and why. */
  recipients: ReadonlyMap<string, { to: string; status: string; error: string | null }>;
  /** Each status that there ever was to tell, by `changeKey`. Default: only the last ones are known. */
  changes?: ReadonlySet<string>;
  /** Sends with nothing left to do. */
  finished: ReadonlySet<string>;
  /** In the order in which people wrote it. */
  written: readonly Written[];
  /** What came of the same as others read it, in that order: what one wrote comes to all in one order. Default: nothing is compared. */
  inOrder?: readonly GatewayEvent[];
  /** Of those who wrote: who gets no messages. Default: those who wrote so last. */
  optedOut?: ReadonlySet<string>;
  /** For good, as callers were answered. */
  optedOutByCallers?: readonly string[];
  /** How linked devices stand, by their names. */
  devices?: ReadonlyMap<string, DeviceStanding>;
  /** Types that are asked for. Default: all. */
  types?: readonly string[];
  /** Ids of what an operator wants told once more: it may have been told meanwhile. */
  replayed?: ReadonlySet<string>;
}

export interface DeviceStanding {
  status: string;
  restriction?: Restriction | undefined;
}

export interface EventsAccount {
  /** Changes, ends of sends and messages of people that were told, each counted once. */
  told: number;
  /** Never told: what became of a recipient on the way, how one or a device stands, or why, that a device was ever connected, that a send has ended, what a person wrote or wants, or what an `events.gap` stands for. */
  lost: number;
  /** Told, and not so; or told of a device, or a person, that is as it was. */
  invented: number;
  /** A recipient of whom an earlier status was told after a later one; or a person of whom what came later was told first. */
  disordered: number;
  /** Told more than once to one who keeps no ids. */
  duplicates: number;
}

export const recipientKey = (messageId: string, index: number) => `${messageId} ${index}`;

export const changeKey = ({ messageId, index, status }: Pick<ChangeData, 'messageId' | 'index' | 'status'>) =>
  `${recipientKey(messageId, index)} ${status}`;

/** In the order in which one may follow another: who has expired may have it all the same, as a receipt says. */
const RANKS: readonly string[] = [
  'expired',
  ...RECIPIENT_STATUSES.filter((status) => status !== 'expired' && status !== 'queued'),
];

/**
 * Compares what one consumer was told, in its order, with what there was to tell.
 * @param onWrong is called for each finding.
 */
export function accountForEvents(
  { types = EVENT_TYPES, replayed, ...toBeTold }: ToBeTold,
  events: readonly GatewayEvent[],
  onWrong: (finding: string, what: unknown) => void = () => {},
): EventsAccount {
  const {
    recipients,
    changes,
    finished,
    written,
    optedOut,
    optedOutByCallers = [],
    devices = new Map(),
    inOrder = [],
  } = toBeTold;
  const account: EventsAccount = { told: 0, lost: 0, invented: 0, disordered: 0, duplicates: 0 };
  const wrong = (finding: Exclude<keyof EventsAccount, 'told'>, what: unknown) => {
    account[finding]++;
    onWrong(finding, what);
  };
  const seen = new Set<string>();
  const isFirst = (id: string): boolean => {
    if (seen.has(id) && !replayed?.has(id)) wrong('duplicates', id);
    return !seen.has(id) && seen.add(id) !== undefined;
  };
  const isNew = (id: string): boolean => {
    const isIt = isFirst(id);
    if (isIt) account.told++;
    return isIt;
  };
  const talk = new Talk(written, optedOutByCallers, placesOf(inOrder), wrong);
  const states = new Map<string, { type: string; state: Record<string, unknown> }>();
  const connected = new Set<string>();
  const last = new Map<string, ChangeData>();
  const heard = new Set<string>();
  const hear = (row: ChangeData) => {
    if (!isNew(row.id)) return;
    const key = recipientKey(row.messageId, row.index);
    const stored = recipients.get(key);
    const before = last.get(key)?.status;
    if (!stored || stored.to !== row.to || rank(row.status) > rank(stored.status)) wrong('invented', row);
    else if (changes?.has(changeKey(row)) === false) wrong('invented', { neverSo: row });
    heard.add(changeKey(row));
    if (before !== undefined && rank(row.status) <= rank(before)) wrong('disordered', { before, row });
    last.set(key, row);
  };
  for (const event of events) {
    for (const row of rowsOf(event)) hear(row);
    if (event.type === 'events.gap') wrong('lost', event);
    if (event.type === 'send.finished' && isNew(event.id) && !finished.has(String(event.data.messageId))) {
      wrong('invented', event);
    }
    if (event.type === 'message.received' && isNew(event.id)) talk.hear(event);
    if (event.type.startsWith('optout.') && isFirst(event.id)) talk.hearWish(event);
    if (!STATES.test(event.type) || !isFirst(event.id)) continue;
    // When it began, and when it is tried again: no other state for that.
    const { since: _, notBefore: __, ...state } = event.data;
    const key = stateKey(event.device!, /restricted$/.test(event.type));
    const told = { type: event.type, state };
    if (isDeepStrictEqual(states.get(key), told)) wrong('invented', { before: told, event });
    states.set(key, told);
    if (event.type === 'device.connected') connected.add(event.device!);
  }
  for (const [key, { status, error }] of recipients) {
    if (status === 'queued') continue;
    const row = last.get(key);
    if (row?.status !== status || row.error !== error) wrong('lost', { key, status, error, told: row });
  }
  const lastOnes = new Set([...recipients].map(([key, { status }]) => `${key} ${status}`));
  for (const change of changes ?? []) if (!heard.has(change) && !lastOnes.has(change)) wrong('lost', { change });
  for (const messageId of finished) {
    if (!seen.has(`evt_${messageId}_finished`)) wrong('lost', { finished: messageId });
  }
  talk.end({ hearsWishes: types.includes('optout.added'), optedOut });
  for (const [device, { status, restriction }] of types.includes('device.connected') ? devices : []) {
    const told = states.get(stateKey(device, false));
    if (!connected.has(device) || told?.state.status !== status) wrong('lost', { device, status, told });
    const [limit, toldOf] = [limitOf(restriction), states.get(stateKey(device, true))?.state ?? {}];
    if (!isDeepStrictEqual(toldOf, limit)) wrong('lost', { device, limit, told: toldOf });
  }
  return account;
}

const STATES = /^device\.(connected|interrupted|disconnected|restricted|unrestricted)$/;

/** A device is connected or not, and beside that restricted or not. */
const stateKey = (device: string, isRestriction: boolean) => `${device} ${isRestriction}`;

/** As an event has it; nothing where there is none. */
function limitOf(restriction: Restriction | undefined): Record<string, unknown> {
  if (!restriction) return {};
  const { kind, untilMs } = restriction;
  return { kind, until: untilMs === undefined ? null : new Date(untilMs).toISOString() };
}

/** Of what people wrote, by name: which of all it was. */
function placesOf(events: readonly GatewayEvent[]): Map<string, number> {
  const places = new Map<string, number>();
  for (const event of events) {
    if (event.type === 'message.received' && !places.has(nameIn(event))) places.set(nameIn(event), places.size);
  }
  return places;
}

function nameIn({ data }: GatewayEvent): string {
  return nameOf({ from: String(data.from), platformId: String(data.platformMessageId) });
}

type Wish = 'optout.added' | 'optout.removed';

/** What people write, and what comes of it. The network may bring what one wrote in another order, so theirs is that in which it was recorded. */
class Talk {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #heard = new Set<string>();
  /** By writer: when the last one came that was told, and its place among all. */
  readonly #cameAt = new Map<string, { at: string; place: number }>();
  readonly #wishes = new Map<string, Wish>();

  constructor(
    private readonly written: readonly Written[],
    private readonly optedOutByCallers: readonly string[],
    private readonly places: ReadonlyMap<string, number>,
    private readonly wrong: (finding: Exclude<keyof EventsAccount, 'told'>, what: unknown) => void,
  ) {
    this.#texts = new Map(written.map((one) => [nameOf(one), one.text]));
  }

  hear(event: GatewayEvent): void {
    const { from, content } = event.data as { from: string; content: { text: string } };
    const name = nameIn(event);
    if (this.#texts.get(name) !== content.text) this.wrong('invented', event);
    const before = this.#cameAt.get(from);
    // In one ms may come several.
    const place = this.places.get(name) ?? before?.place ?? 0;
    if (before && (event.timestamp < before.at || place < before.place)) this.wrong('disordered', { before, event });
    this.#cameAt.set(from, { at: event.timestamp, place });
    this.#heard.add(name);
  }

  hearWish(event: GatewayEvent): void {
    const wish = event.type as Wish;
    for (const phone of event.data.phones as string[]) {
      if (wish === (this.#wishes.get(phone) ?? 'optout.removed')) this.wrong('invented', { phone, event });
      this.#wishes.set(phone, wish);
    }
  }

  end({ hearsWishes, optedOut }: { hearsWishes: boolean; optedOut: ReadonlySet<string> | undefined }): void {
    for (const one of this.written) if (!this.#heard.has(nameOf(one))) this.wrong('lost', one);
    const last = lastWishes(this.written);
    for (const phone of this.optedOutByCallers) last.set(phone, 'optout.added');
    for (const [phone, wants] of optedOut ? last : [])
      if ((wants === 'optout.added') !== optedOut!.has(phone)) this.wrong('lost', { phone, wants });
    if (!hearsWishes) return;
    for (const phone of new Set([...last.keys(), ...this.#wishes.keys()])) {
      const [wants, told] = [last.get(phone) ?? 'optout.removed', this.#wishes.get(phone) ?? 'optout.removed'];
      if (wants !== told) this.wrong('lost', { phone, wants, told });
    }
  }
}

const nameOf = ({ from, platformId }: Omit<Written, 'text'>) => `${from} ${platformId}`;

/** What counts in the end, whatever came first. */
function lastWishes(written: readonly Written[]): Map<string, Wish> {
  const wishes = new Map<string, Wish>();
  for (const { from, text } of written) {
    const wish = readWish(text);
    if (wish) wishes.set(from, wish === 'stop' ? 'optout.added' : 'optout.removed');
  }
  return wishes;
}

/** How many events, and changes of those that are told together, were told to some in other words than to others under the same id. */
export function countAltered(told: readonly (readonly GatewayEvent[])[], onWrong: (what: unknown) => void): number {
  const words = new Map<string, string>();
  let altered = 0;
  const compare = (id: string, one: unknown) => {
    const text = JSON.stringify(one);
    const before = words.get(id);
    words.set(id, before ?? text);
    if (before === undefined || before === text) return;
    altered++;
    onWrong({ before, text });
  };
  for (const event of told.flat()) {
    for (const row of rowsOf(event)) compare(`change ${row.id}`, row);
    if (event.type !== 'messages.updated') compare(event.id, event);
  }
  return altered;
}

/** What there was to tell of recipients, by `changeKey`, as far as any of them was told. */
export function changesTold(told: readonly (readonly GatewayEvent[])[]): ReadonlySet<string> {
  return new Set(told.flatMap((events) => events.flatMap((event) => rowsOf(event).map(changeKey))));
}

/** Of one, or of several, recipients. */
function rowsOf({ type, data }: GatewayEvent): ChangeData[] {
  if (type === 'messages.updated') return data.changes as ChangeData[];
  const isRow = /^(message|otp)\./.test(type) && type !== 'message.received';
  return isRow ? [data as unknown as ChangeData] : [];
}

const rank = (status: string) => RANKS.indexOf(status);

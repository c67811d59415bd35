import { compareEntries, entryAfter } from '@gateway/contracts/events/cursor';
import { EVENT_CLASSES, EVENT_LOG, type EventClass } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { readSurely } from '../core/confirming/write-together.js';
import { defineScript, text } from '../core/scripts/define-script.js';
import { isOne, oneOf } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { appendEvents, keyOfOutbox, makeAttempt, type Outbox } from './append-events.js';
import { GapCount, tellMissing } from './tell-missing.js';

const boundStep = defineScript({
  name: 'bound-log',
  whenFull: 'runs',
  keys: ['log', 'marks'],
  args: { last: text, behind: text },
  reply: isOne,
});

const trimStep = defineScript({
  name: 'trim-outbox',
  whenFull: 'runs',
  keys: ['outbox'],
  args: { last: text, behind: text },
  reply: oneOf('', ...EVENT_CLASSES),
});

const AT_ONCE = 500;
const START = '0-0';

export interface RelayOptions {
  /** Counts those of the entries that tell of a gap. */
  gaps?: GapCount;
  /** Where this process left the mark of each outbox: it is compared with that in Redis before anything is appended, or trimmed. */
  marks?: Map<string, string>;
  /** Is told how many entries there are as soon as they are in the log, also where that then fails, as replicas do not confirm. */
  onAppended?: (entries: number) => void;
  /** Before what is left is read, if that came since and may be gathered. */
  rest?: () => Promise<void>;
}

/**
 * Copies what is in an outbox to the log of its workspace, each entry once, also where other processes do the
 * same at the same time, and wherever a process dies: the step that appends also moves the mark, and compares it before. Then the outbox is trimmed. Answers how many
 * entries this call has appended.
 */
export async function relayOutbox(
  store: Store,
  outbox: Outbox,
  { gaps = new GapCount(() => {}), marks = new Map(), rest, onAppended }: RelayOptions = {},
): Promise<number> {
  const place = `${outbox.workspace}/${outbox.shard}`;
  let appended = 0;
  const note = (entries: number) => {
    appended += entries;
    onAppended?.(entries);
  };
  const noteMissing = () => tellMissing(store, outbox, gaps).then(note);
  const readMarkAgain = async (known: string) => {
    const found = await readMark(store, outbox);
    // Redis went back: it may be that what was missing is told there no more.
    if (compareEntries(found, known) < 0) await noteMissing();
    return found;
  };
  let mark = marks.get(place);
  if (mark === undefined) [mark] = await Promise.all([readMark(store, outbox), noteMissing()]);
  for (;;) {
    const { isEmpty, isLong, untold } = await readConfirmed(store, outbox, mark);
    // What comes into an empty one rings.
    if (isEmpty) return appended;
    // Only a long one may become full.
    if (isLong) await noteMissing();
    const { outcome, last } = await append(store, outbox, { mark, untold });
    if (outcome === 'closed') {
      marks.delete(place);
      return appended;
    }
    if (outcome === 'appended') note(untold.length);
    mark = outcome === 'appended' ? last : await readMarkAgain(mark);
    marks.set(place, mark);
    if (outcome === 'moved') continue;
    // What came before the trimming, and while replicas confirmed, has rung no bell unless it cannot wait behind what can.
    const left = await trim(store, outbox, mark);
    if (left === '') return appended;
    // Of a long one more may be there that cannot wait, and has rung before.
    if (left === 'lists' && !isLong) await rest?.();
  }
}

type Untold = readonly { id: string; entry: Buffer }[];

/** Also of nothing: the mark is compared, as what is there up to it is trimmed then. */
async function append(store: Store, outbox: Outbox, { mark, untold }: { mark: string; untold: Untold }) {
  const last = untold.at(-1)?.id ?? mark;
  const entries = untold.map(({ entry }) => entry);
  // What brings nothing leaves it said whose the last was.
  const attempt = entries.length > 0 ? makeAttempt() : '';
  const move = { field: `${outbox.shard}`, none: START, expected: mark, mark: last, attempt };
  return { outcome: await appendEvents(store, outbox, { ...move, entries }), last };
}

interface OutboxPart {
  isEmpty: boolean;
  /** There may be more than this. */
  isLong: boolean;
  untold: Untold;
}

/**
 * Once replicas have it: what a failover takes back happens again here, and the log, which lies on another master of a Cluster, would tell of it
 * twice. With Sentinels as well, where the step that appends waits for the next master.
 */
function readConfirmed(store: Store, outbox: Outbox, mark: string): Promise<OutboxPart> {
  const isAnything = ({ untold }: OutboxPart) => untold.length > 0;
  return readSurely(store, keyOfOutbox(store, outbox), { read: () => readOutbox(store, outbox, mark), isAnything });
}

/**
 * What is there and not in the log: all behind the mark. What is there up to the mark is in the log as long as the entry of the mark is
 * there, too: someone has appended it, and not lived to trim. Without that entry it came after Redis went back here and not in the log,
 * by the clock of another master. @param mark was read before, as it grows.
 */
async function readOutbox(store: Store, outbox: Outbox, mark: string): Promise<OutboxPart> {
  const key = keyOfOutbox(store, outbox);
  const found = (await store.redis.xrangeBuffer(key, '-', '+', 'COUNT', AT_ONCE)).map(toEntry);
  const [first] = found;
  if (!first) return { isEmpty: true, isLong: false, untold: [] };
  const isLong = found.length === AT_ONCE;
  if (compareEntries(first.id, mark) > 0) return { isEmpty: false, isLong, untold: found };
  // It is long since this was trimmed, as replicas do not confirm.
  if (isLong) return readLongOutbox(store, key, mark);
  const place = found.findIndex(({ id }) => id === mark);
  return { isEmpty: false, isLong, untold: found.slice(place + 1) };
}

async function readLongOutbox(store: Store, key: string, mark: string): Promise<OutboxPart> {
  // In this order: what is trimmed in between is not read.
  const [ofMark, rows, behind] = await Promise.all([
    store.redis.xrange(key, mark, mark),
    store.redis.xrangeBuffer(key, '-', '+', 'COUNT', AT_ONCE),
    store.redis.xrangeBuffer(key, `(${mark}`, '+', 'COUNT', AT_ONCE),
  ]);
  const untold = (ofMark.length > 0 ? behind : rows).map(toEntry);
  return { isEmpty: rows.length === 0, isLong: true, untold };
}

const toEntry = ([id, [, entry]]: [Buffer, Buffer[]]) => ({ id: id.toString(), entry: entry! });

/**
 * Drops what is older than the log keeps, as nothing may come into it that does so, and the oldest while it is larger than it may get.
 * Answers whether something went.
 */
export async function boundLog(
  store: Store,
  workspace: Workspace,
  mostBytes: number = EVENT_LOG.bytes,
): Promise<boolean> {
  const { eventLog: log, eventMarks: marks } = workspaceKeys(store.space, workspace);
  const drop = (last: string | undefined) =>
    last !== undefined && boundStep(store, { log, marks, last, behind: entryAfter(last) });
  const wasOld = await drop(await lastTooOld(store, log));
  return (await drop(await lastTooMuch(store, log, mostBytes))) || wasOld;
}

async function lastTooOld({ redis }: Store, log: string): Promise<string | undefined> {
  const [old] = await redis.xrevrange(log, `(${systemClock.nowMs() - EVENT_LOG.keptMs}-0`, '-', 'COUNT', 1);
  return old?.[0];
}

async function lastTooMuch({ redis }: Store, log: string, mostBytes: number): Promise<string | undefined> {
  const used = Number((await redis.call('MEMORY', 'USAGE', log)) ?? 0);
  if (used <= mostBytes) return undefined;
  const rows = await redis.xrange(log, '-', '+', 'COUNT', Math.ceil((await redis.xlen(log)) * SHARE_TO_GO));
  return rows.at(-1)?.[0];
}

const SHARE_TO_GO = 0.05;

async function readMark(store: Store, { workspace, shard }: Outbox): Promise<string> {
  return (await store.redis.hget(workspaceKeys(store.space, workspace).eventMarks, `${shard}`)) ?? START;
}

/**
 * Once replicas have what the log got: it lies elsewhere in a Cluster, and a failover there does not bring back what is gone here.
 * Throws `not_confirmed`; entries then lie here for the next attempt, which finds the mark. Answers with the class of what is left.
 */
async function trim(store: Store, outbox: Outbox, mark: string): Promise<EventClass | ''> {
  await store.confirmWrites(workspaceKeys(store.space, outbox.workspace).eventLog);
  return trimStep(store, { outbox: keyOfOutbox(store, outbox), last: mark, behind: entryAfter(mark) });
}

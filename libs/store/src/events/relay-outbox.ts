import { compareEntries, entryAfter } from '@gateway/contracts/events/cursor';
import { EVENT_LOG, mayWait } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { bytes, defineScript, flag, number, text } from '../core/scripts/define-script.js';
import { isOne, oneOf } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { gapEntry } from './gap-entry.js';

const appendStep = defineScript({
  name: 'append-events',
  whenFull: 'runs',
  keys: ['log', 'marks'],
  args: { field: text, none: text, expected: text, mark: text, keptMs: number, canWait: flag, '...entries': bytes },
  reply: oneOf('appended', 'moved', 'closed'),
});

const boundStep = defineScript({
  name: 'bound-log',
  whenFull: 'runs',
  keys: ['log', 'marks'],
  args: { last: text, behind: text },
  reply: isOne,
});

const AT_ONCE = 500;
const START = '0-0';

export interface Outbox {
  workspace: Workspace;
  shard: number;
}

/**
 * Copies what is in an outbox to the log of its workspace, each entry once, whoever else does the same at the same time and wherever
 * a process dies: the step that appends also moves the mark, and compares it before. Then the outbox is trimmed. Answers how many
 * entries this call has appended. @param onGap when one of them tells of a gap.
 */
export async function relayOutbox(store: Store, outbox: Outbox, onGap = () => {}): Promise<number> {
  const [missing, known] = await Promise.all([tellMissing(store, outbox), readMark(store, outbox)]);
  if (missing > 0) onGap();
  let appended = missing;
  let [mark, found] = [known, await readBehind(store, outbox, known)];
  // Where something lies behind the mark, that is not ahead.
  if (found.length === 0) {
    mark = await mendMark(store, outbox, known);
    if (mark !== known) found = await readBehind(store, outbox, mark);
  }
  // Someone else may have appended them, and not lived to trim.
  if (found.length === 0) await trim(store, outbox, mark);
  while (found.length > 0) {
    const last = found.at(-1)![0].toString();
    const entries = found.map(([, [, value]]) => value!);
    const what = { field: `${outbox.shard}`, none: START, expected: mark, mark: last, entries };
    const outcome = await append(store, outbox, what);
    if (outcome === 'closed') return appended;
    if (outcome === 'appended') appended += entries.length;
    mark = outcome === 'appended' ? last : await readMark(store, outbox);
    // In this order: what came before the trimming has rung no bell.
    [, found] = await Promise.all([trim(store, outbox, mark), readBehind(store, outbox, mark)]);
  }
  return appended;
}

function readBehind(store: Store, outbox: Outbox, mark: string): Promise<[Buffer, Buffer[]][]> {
  return store.redis.xrangeBuffer(keyOf(store, outbox), `(${mark}`, '+', 'COUNT', AT_ONCE);
}

/** Makes room where the log is larger than it may get: the oldest goes. Answers whether it did. */
export async function boundLog(
  store: Store,
  workspace: Workspace,
  mostBytes: number = EVENT_LOG.bytes,
): Promise<boolean> {
  const { eventLog, eventMarks } = workspaceKeys(store.space, workspace);
  const used = Number((await store.redis.call('MEMORY', 'USAGE', eventLog)) ?? 0);
  if (used <= mostBytes) return false;
  const length = await store.redis.xlen(eventLog);
  const [gone] = await store.redis
    .xrange(eventLog, '-', '+', 'COUNT', Math.ceil(length * SHARE_TO_GO))
    .then((rows) => rows.slice(-1));
  if (!gone) return false;
  return boundStep(store, { log: eventLog, marks: eventMarks, last: gone[0], behind: entryAfter(gone[0]) });
}

const SHARE_TO_GO = 0.05;

function keyOf({ space }: Store, { workspace, shard }: Outbox): string {
  return shardKeys(space, shard).outbox(workspace);
}

async function readMark(store: Store, { workspace, shard }: Outbox): Promise<string> {
  return (await store.redis.hget(workspaceKeys(store.space, workspace).eventMarks, `${shard}`)) ?? START;
}

/**
 * Once replicas have what the log got: it lies elsewhere in a Cluster, and a failover there does not bring back what is gone here.
 * Throws `not_confirmed`; entries then lie here for the next attempt, which finds the mark.
 */
async function trim(store: Store, outbox: Outbox, mark: string): Promise<void> {
  if (mark === START) return;
  await store.confirmWrites(workspaceKeys(store.space, outbox.workspace).eventLog);
  await store.redis.xtrim(keyOf(store, outbox), 'MINID', entryAfter(mark));
}

/**
 * The mark, or the start if it is ahead of the outbox: Redis went back by a second here, and not there. Before anything is trimmed, as
 * what came since then lies behind the mark and is not in the log. @param mark was read before, as it grows.
 */
async function mendMark(store: Store, outbox: Outbox, mark: string): Promise<string> {
  if (mark === START) return mark;
  const info = (await store.redis.xinfo('STREAM', keyOf(store, outbox)).catch(() => [])) as unknown[];
  const last = info[info.indexOf('last-generated-id') + 1];
  if (typeof last !== 'string' || compareEntries(last, mark) >= 0) return mark;
  await append(store, outbox, { field: `${outbox.shard}`, none: START, expected: mark, mark: START, entries: [] });
  return readMark(store, outbox);
}

/** What an outbox had no room for is a gap in the log. */
async function tellMissing(store: Store, outbox: Outbox): Promise<number> {
  const field = `${outbox.shard}:missing`;
  const [count, known] = await Promise.all([
    store.redis.get(`${keyOf(store, outbox)}:missing`),
    store.redis.hget(workspaceKeys(store.space, outbox.workspace).eventMarks, field),
  ]);
  const [missing, told] = [Number(count ?? 0), known ?? '0'];
  if (missing <= Number(told)) return 0;
  const entries = [gapEntry(missing - Number(told))];
  const outcome = await append(store, outbox, { field, none: '0', expected: told, mark: `${missing}`, entries });
  return outcome === 'appended' ? 1 : 0;
}

function append(
  store: Store,
  { workspace }: Outbox,
  what: { field: string; none: string; expected: string; mark: string; entries: Buffer[] },
): Promise<'appended' | 'moved' | 'closed'> {
  const { eventLog, eventMarks } = workspaceKeys(store.space, workspace);
  const canWait = what.entries.every(mayWait);
  return appendStep(store, { log: eventLog, marks: eventMarks, keptMs: EVENT_LOG.keptMs, canWait, ...what });
}

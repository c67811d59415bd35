import { type AuditAction, isOfInstallation } from '@gateway/contracts/console/users';
import type { Workspace } from '@gateway/contracts/ids';
import { consoleKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { defineScript, mixed, number } from '../core/scripts/define-script.js';
import { nothing } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';

const recordStep = defineScript({
  name: 'record-change',
  whenFull: 'runs',
  keys: ['log', 'lines?'],
  args: { oldestMs: number, most: number, mostOfOne: number, mostNodes: number, keptMs: number, '...fields': mixed },
  reply: nothing,
});

/** Who did what, and to what: ids and names, never a token, a code or a number of a person. */
export interface AuditEntry {
  user: string;
  action: AuditAction;
  /** Where; not kept for what concerns the whole installation. */
  workspace?: Workspace;
  /** Name or id of what was changed. */
  target?: string;
  requestId?: string;
}

type AuditLine = AuditEntry & { id: string; atMs: number };

const KEPT_MS = 90 * 24 * 60 * 60 * 1000;
const PAGE = 100;
/** At most 16 MB for programs, and as much for people: a program that links and disconnects all day may not fill Redis with it. */
const MOST_KEPT = 100_000;
const MOST_OF_ONE_PROGRAM = 10_000;
/** Of 4 kB, in which Redis keeps some thirty lines each. */
const MOST_NODES = 4_000;
/** Ends the id of a line of a program: lines of both logs may be of one moment. */
const OF_PROGRAM = 'p';

/**
 * Remembers it for 90 days; of a flood the newest.
 * @param program the key id of the token that did it: its lines push out none of people, and few of other programs.
 */
export async function recordAudit(store: Store, entry: AuditEntry, program?: string): Promise<void> {
  const { audit, auditOfPrograms, auditLines } = consoleKeys(store.space);
  const nowMs = systemClock.nowMs();
  const { workspace, ...others } = entry;
  const told = { ...others, ...(!isOfInstallation(entry.action) && { workspace }), atMs: nowMs };
  await recordStep(store, {
    log: program === undefined ? audit : auditOfPrograms,
    lines: program === undefined ? undefined : auditLines(program),
    ...{ oldestMs: nowMs - KEPT_MS, most: MOST_KEPT, mostOfOne: MOST_OF_ONE_PROGRAM },
    ...{ mostNodes: MOST_NODES, keptMs: KEPT_MS },
    fields: Object.entries(told).flatMap(([name, value]) => (value === undefined ? [] : [name, value])),
  });
}

/** The newest first, a hundred at a time. @param before the `id` of the last one that is known. */
export async function listAudit(store: Store, { before }: { before?: string } = {}): Promise<AuditLine[]> {
  const { audit, auditOfPrograms } = consoleKeys(store.space);
  const id = before?.replace(OF_PROGRAM, '');
  // Of two lines with one id that of a program comes later in the list.
  const fromOfPrograms = id === before ? id : `(${id}`;
  const [ofPeople, ofPrograms] = await Promise.all([
    readLines(store, audit, id && `(${id}`),
    readLines(store, auditOfPrograms, fromOfPrograms),
  ]);
  const told = ofPrograms.map((line) => ({ ...line, id: `${line.id}${OF_PROGRAM}` }));
  return [...ofPeople, ...told].sort(compareAge).slice(0, PAGE);
}

async function readLines(store: Store, log: string, from = '+'): Promise<AuditLine[]> {
  const oldest = systemClock.nowMs() - KEPT_MS;
  const rows = await store.redis.xrevrange(log, from, oldest, 'COUNT', PAGE);
  return rows.map(([id, flat]) => {
    const { atMs, ...entry } = Object.fromEntries(pairs(flat)) as unknown as AuditEntry & { atMs: string };
    return { ...entry, id, atMs: Number(atMs) };
  });
}

/** The newer one first; lines that are equal stay in their order. */
function compareAge({ id: one }: AuditLine, { id: other }: AuditLine): number {
  const [[ms = 0, count = 0], [otherMs = 0, otherCount = 0]] = [one, other].map((id) =>
    id.split('-').map(parseFloat),
  ) as [number[], number[]];
  return otherMs - ms || otherCount - count;
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []) as [string, string][]);
}

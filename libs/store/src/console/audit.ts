import type { AuditAction } from '@gateway/contracts/console/users';
import { consoleKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { type Store, writeAlways } from '../core/store.js';

/** Who did what, and to what: ids and names, never a token, a code or a number of a person. */
export interface AuditEntry {
  user: string;
  action: AuditAction;
  /** Name or id of what was changed. */
  target?: string;
  requestId?: string;
}

const KEPT_MS = 90 * 24 * 60 * 60 * 1000;
const PAGE = 100;
/** 15 MB: a program that links and disconnects all day may not fill Redis with it. */
const MOST_KEPT = 100_000;

/** Remembers it for 90 days; of a flood the newest. */
export async function recordAudit(store: Store, entry: AuditEntry): Promise<void> {
  const nowMs = systemClock.nowMs();
  const fields = Object.entries({ ...entry, atMs: nowMs }).filter(([, value]) => value !== undefined);
  const { audit } = consoleKeys(store.space);
  await writeAlways(store, 'XADD', audit, 'MINID', '~', nowMs - KEPT_MS, '*', ...fields.flat().map(String));
  await store.redis.xtrim(audit, 'MAXLEN', '~', MOST_KEPT);
}

/** The newest first, a hundred at a time. @param before the `id` of the last one that is known. */
export async function listAudit(
  store: Store,
  { before }: { before?: string } = {},
): Promise<(AuditEntry & { id: string; atMs: number })[]> {
  const from = before === undefined ? '+' : `(${before}`;
  const oldest = systemClock.nowMs() - KEPT_MS;
  const rows = await store.redis.xrevrange(consoleKeys(store.space).audit, from, oldest, 'COUNT', PAGE);
  return rows.map(([id, flat]) => {
    const { atMs, ...entry } = Object.fromEntries(pairs(flat)) as unknown as AuditEntry & { atMs: string };
    return { ...entry, id, atMs: Number(atMs) };
  });
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []) as [string, string][]);
}

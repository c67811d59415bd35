import { CLOCKS_DIFFER_MS, READ_ENTRY_VERSIONS, startOf } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import type { Store } from '../../core/store.js';

/** Longer than entries lie in an outbox while a relay runs: those that come into the log later are noted. */
const LATE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** When the oldest of these happened, Unix ms, if that is long ago. */
export function lateSince(entries: readonly Buffer[]): number | undefined {
  const times = entries.flatMap((entry) => (READ_ENTRY_VERSIONS.includes(entry[0]!) ? startOf(entry).atMs : []));
  const oldestMs = Math.min(...times);
  return oldestMs < systemClock.nowMs() - LATE_MS ? oldestMs : undefined;
}

/**
 * Until when, Unix ms, all has come into the log that happened before a time, of what is in it now. What came late is known by the hour;
 * of what came before this was noted, as in the version before, nothing is known.
 */
export async function logTimeOf(store: Store, workspace: Workspace, beforeMs: number): Promise<number> {
  const marks = await store.redis.hgetall(workspaceKeys(store.space, workspace).eventMarks);
  const ends = Object.entries(marks).flatMap(([field, oldestMs]) => {
    const [, hour] = /^late:(\d+)$/.exec(field) ?? [];
    return hour !== undefined && Number(oldestMs) < beforeMs ? (Number(hour) + 1) * HOUR_MS : [];
  });
  const { lateFromMs = systemClock.nowMs() } = marks;
  return Math.max(beforeMs + LATE_MS + CLOCKS_DIFFER_MS, Number(lateFromMs), ...ends);
}

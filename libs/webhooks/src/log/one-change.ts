import { entryBefore, type LogPlace } from '@gateway/contracts/events/cursor';
import type { ChangeData } from '@gateway/contracts/events/events';
import type { Workspace } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { readLog } from '@gateway/store/events/read-log';
import { entryReader } from '@gateway/store/events/render-events';
import { filterOf } from '../feed.js';
import type { LanePlace } from './look-ahead.js';
import { type LogTold, toldIn } from './told.js';

/** Whether only one change of a recipient lies between two places: a replay by its id asks for so little. */
export function isOfOneChange({ webhook, lane, after }: LanePlace, to: LogPlace): boolean {
  const isOne = to.entry === after.entry && to.offset === after.offset + 1 && to.offset % 2 === 1;
  return lane === 'replay' && !webhook.times && isOne;
}

/** In the way that is asked for now: alone, or else as all that is told together. None of those that came with it are told. */
export async function readChange(
  { store, workspace }: { store: Store; workspace: Workspace },
  { webhook, after }: LanePlace,
  to: LogPlace,
): Promise<LogTold[]> {
  const found = await readLog(store, workspace, { entry: after.entry, offset: 0 }, { limit: 1 });
  const [entry] = 'entries' in found ? found.entries : [];
  if (!entry || entryBefore(entry.id) !== after.entry) return [];
  const eachOf = entryReader(store, workspace, { ...filterOf(webhook), leavesOutIds: true });
  for await (const { event, end, rowEnds } of eachOf(entry, after.offset)) {
    if (!rowEnds && end === to.offset) return toldIn({ entry: entry.id, event, place: to });
    const row = rowEnds?.indexOf(to.offset) ?? -1;
    if (row < 0) continue;
    const changes = [(event.data.changes as ChangeData[])[row]!];
    return toldIn({ entry: entry.id, event: { ...event, data: { changes } }, place: to });
  }
  return [];
}

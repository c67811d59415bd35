import type { Workspace } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import type { LoggedEntry } from '@gateway/store/events/read-log';
import { type EventFilter, eachEvent, type RenderedEvent } from '@gateway/store/events/render-events';

/** All events of log entries. */
export async function renderEvents(
  store: Store,
  workspace: Workspace,
  entries: readonly LoggedEntry[],
  filter: EventFilter = {},
): Promise<RenderedEvent[]> {
  const rendered: RenderedEvent[] = [];
  for await (const event of eachEvent(store, workspace, entries, filter)) rendered.push(event);
  return rendered;
}

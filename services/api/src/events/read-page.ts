import { type LogPlace, sayCursor } from '@gateway/contracts/events/cursor';
import type { Workspace } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import type { Store } from '@gateway/store/core/store';
import type { LogGone } from '@gateway/store/events/read-log';
import { type EventPage, readEvents } from '@gateway/store/events/reading/read-events';
import type { EventFilter } from '@gateway/store/events/render-events';

/** Events behind a place. Throws `events_gone`, with the place from which on they are there, when some are not any more. */
export async function readPage(
  reading: { store: Store; workspace: Workspace },
  after: LogPlace,
  filter: EventFilter & { limit: number },
): Promise<EventPage> {
  const page = await readEvents(reading, after, filter);
  if ('oldest' in page) throw eventsGone(page, 'after');
  return page;
}

/** @param field what the caller asked by. */
export function eventsGone({ oldest }: LogGone, field: string): ApiError {
  const message = `the oldest cursor is ${sayCursor(oldest)}`;
  return new ApiError('events_gone', { details: [{ path: [field], message }] });
}

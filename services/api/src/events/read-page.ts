import { type ReaderPlace, sayReaderCursor } from '@gateway/contracts/events/reader-place';
import { ApiError } from '@gateway/runtime/errors';
import { type EventPage, type ReaderGone, readEvents } from '@gateway/store/events/reading/read-events';
import type { EventFilter } from '@gateway/store/events/render-events';
import type { ApiDeps } from '../api-deps.js';
import type { Call } from '../http/endpoint.js';
import { readInTurn } from '../http/read-in-turn.js';

/**
 * Events behind a place, as they are told to the caller. Throws `events_gone`, with the place from which on they are there, when some are
 * not any more.
 */
export async function readPage(
  call: Pick<Call<unknown, unknown>, 'workspace' | 'token' | 'signal'>,
  { store, metrics, toldMessages }: Pick<ApiDeps, 'store' | 'metrics' | 'toldMessages'>,
  after: ReaderPlace,
  filter: EventFilter & { limit: number },
): Promise<EventPage> {
  const page = await readInTurn(call, () => readEvents({ store, workspace: call.workspace }, after, filter));
  if ('oldest' in page) throw eventsGone(page, 'after');
  metrics.readWithoutContent.inc(toldMessages.note(call.token.keyId, page.rows));
  return page;
}

/** @param field what the caller asked by. */
export function eventsGone({ oldest }: ReaderGone, field: string): ApiError {
  const oldestCursor = sayReaderCursor(oldest);
  return new ApiError('events_gone', {
    details: [{ path: [field], message: `the oldest cursor is ${oldestCursor}` }],
    oldestCursor,
  });
}

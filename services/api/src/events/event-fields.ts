import { LOG_START } from '@gateway/contracts/events/cursor';
import { EVENT_TYPES } from '@gateway/contracts/events/events';
import { parseReaderCursor, type ReaderPlace } from '@gateway/contracts/events/reader-place';
import { openEvents } from '@gateway/store/events/open-events';
import { endOfLog, isAheadOfLog, noteReading } from '@gateway/store/events/read-log';
import type { ApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import type { ApiDeps } from '../api-deps.js';
import type { Call } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { eventsGone } from './read-page.js';

export const cursorField = Joi.string()
  .custom((text: string, helpers) => (parseReaderCursor(text) ? text : helpers.error('any.invalid')))
  .description(
    'The `nextCursor` of the answer before; `0` for the oldest event that is kept. Without it: from now on.',
  );

export const typesField = Joi.string()
  .custom(readTypes)
  .description(
    'Only these, separated by commas, and `events.gap` where something is missing. Without it all but `message.<status>`, which tell each recipient apart.',
  );

function readTypes(list: string): string[] {
  const types = list.split(',');
  if (!types.every((type) => EVENT_TYPES.includes(type))) throw new Error('must be types of events that there are');
  return types;
}

/** An event in an answer. What `data` holds depends on the type: see the webhooks of the document. */
export const eventAnswer = Joi.object({
  id: Joi.string().required().description('The same however often it is told.'),
  type: Joi.string()
    .valid(...EVENT_TYPES)
    .required(),
  version: Joi.number().integer().valid(1).required(),
  timestamp: Joi.string().required().description('ISO 8601.'),
  device: Joi.string().allow(null).required().description('null where it is about the workspace.'),
  data: Joi.object().unknown(true).required(),
});

type EventsCall = Pick<Call<{ types?: string[] }, unknown>, 'query' | 'token'>;

/** From where on. To read is to want events: from now on there are some. */
export async function startReading(
  { token, query }: { token: Pick<ApiToken, 'workspace' | 'keyId'>; query: { after?: string | undefined } },
  { store, clock }: Pick<ApiDeps, 'store' | 'clock'>,
): Promise<ReaderPlace> {
  const { workspace, keyId } = token;
  if (!(await noteReading(store, workspace))) await openEvents(store, workspace, { keyId });
  if (query.after === undefined) return endOfLog(store, workspace);
  const place = parseReaderCursor(query.after) ?? LOG_START;
  if (await isAheadOfLog(store, workspace, place, clock.nowMs())) throw eventsGone({ oldest: LOG_START }, 'after');
  return place;
}

/** A token of a device hears of that device. */
export function filterOf({ query: { types }, token }: EventsCall) {
  return { ...(types && { types }), ...(token.device !== undefined && { devices: [token.device] }) };
}

const LOOK_AT_AWAY_MS = 1_000;

/** How long to wait for news: a node that is back rings for none of what was passed meanwhile. */
export const untilBackMs = ({ held }: ReaderPlace): number => (held ? LOOK_AT_AWAY_MS : Number.POSITIVE_INFINITY);

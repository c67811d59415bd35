import { LOG_START, type LogPlace, parseCursor, sayCursor } from '@gateway/contracts/events/cursor';
import { EVENT_TYPES } from '@gateway/contracts/events/events';
import { areEventsOpen, openEvents } from '@gateway/store/events/open-events';
import { endOfLog, noteReading } from '@gateway/store/events/read-log';
import type { ApiDeps } from '../api-deps.js';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Call, Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { eventAnswer } from './event-fields.js';
import { type EventPage, readEvents } from './wait-for-events.js';

export interface EventsQuery {
  after?: string;
  types?: string[];
  limit: number;
  wait: number;
}

function readTypes(list: string): string[] {
  const types = list.split(',');
  const unknown = types.find((type) => !EVENT_TYPES.includes(type));
  if (unknown !== undefined) throw new Error(`there is no type ${unknown.slice(0, 40)}`);
  return types;
}

type EventsCall = Pick<Call<EventsQuery, unknown>, 'workspace' | 'query' | 'token' | 'signal'>;

/** `GET /events`: what changed, for those who ask. */
export const listEvents: Endpoint<EventsQuery, Record<string, never>> = {
  methods: ['get'],
  path: '/events',
  bucket: 'events',
  scope: 'events',
  query: Joi.object<EventsQuery>({
    after: Joi.string()
      .custom((text: string, helpers) => (parseCursor(text) ? text : helpers.error('any.invalid')))
      .description(
        'The `nextCursor` of the answer before; `0` for the oldest event that is kept. Without it: from now on.',
      ),
    types: Joi.string()
      .custom(readTypes)
      .description(
        'Only these, separated by commas. Without it all but `message.<status>`, which tell each recipient apart.',
      ),
    limit: Joi.number().integer().min(1).max(1_000).default(500).description('Changes in an answer, about.'),
    wait: Joi.number().integer().min(0).max(25).default(0).unit('seconds').description('How long to wait for one.'),
  }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'listEvents',
    summary: 'Read events',
    description:
      'What changed, in order for each recipient and each device. Ask again with `nextCursor`. Nothing is left out: what is not kept any ' +
      'more, after 7 days, is a 410 with the oldest cursor. The first call of a workspace starts its events; without a call or a webhook they ' +
      'end after 7 days. A token of a device gets the events of that device. Waiting is for five calls of a token at a time.',
    answer: {
      status: 200,
      description: 'Events, the oldest first; perhaps none.',
      body: Joi.object({
        events: Joi.array().items(eventAnswer).required(),
        nextCursor: Joi.string().required(),
      }),
    },
    errors: ['events_gone'],
  },

  async handle(call, deps) {
    const after = await startReading(call, deps);
    const { events, next } = await waitForEvents(call, deps, after);
    return { status: 200, body: { events, nextCursor: sayCursor(next) } };
  },
};

/** From where on. Whoever reads wants events: from now on there are some. */
export async function startReading({ workspace, query }: EventsCall, { store }: ApiDeps): Promise<LogPlace> {
  if (!(await areEventsOpen(store, workspace))) await openEvents(store, workspace);
  await noteReading(store, workspace);
  return query.after === undefined ? endOfLog(store, workspace) : (parseCursor(query.after) ?? LOG_START);
}

async function waitForEvents(call: EventsCall, deps: ApiDeps, after: LogPlace): Promise<EventPage> {
  const { workspace, query, token, signal } = call;
  const { store, eventBells, eventWaits } = deps;
  const filter = { ...filterOf(call), limit: query.limit };
  const release = query.wait > 0 ? eventWaits.take(token.keyId) : undefined;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(query.wait * 1000)]);
  let rings = 0;
  let wake = () => {};
  const stop = eventBells.on(workspace, () => {
    rings++;
    wake();
  });
  deadline.addEventListener('abort', () => wake(), { once: true });
  try {
    let page: EventPage = { events: [], next: after, isLast: false };
    for (;;) {
      const heard = rings;
      page = await readEvents({ store, workspace }, page.next, filter);
      if (page.events.length > 0) return page;
      if (!page.isLast) continue;
      if (!release || deadline.aborted) return page;
      // A bell that rang while we read has been heard.
      if (rings === heard) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    stop();
    release?.();
  }
}

export function filterOf({ query: { types }, token }: EventsCall) {
  return { ...(types && { types }), ...(token.device !== undefined && { devices: [token.device] }) };
}

import { type ReaderPlace, sayReaderCursor } from '@gateway/contracts/events/reader-place';
import { MOST_CHANGES } from '@gateway/store/events/read-log';
import type { EventPage } from '@gateway/store/events/reading/read-events';
import type { ApiDeps } from '../api-deps.js';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Call, Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { cursorField, eventAnswer, filterOf, startReading, typesField, untilBackMs } from './event-fields.js';
import { readPage } from './read-page.js';
import { waitForBell } from './wait-for-bell.js';

interface EventsQuery {
  after?: string;
  types?: string[];
  limit: number;
  wait: number;
}

type EventsCall = Call<EventsQuery, Record<string, never>>;

/** Of 200 entries each, that one call looks through for types that are not in them; they may be of ten thousand changes together. */
const MOST_PAGES = 50;

/** `GET /events`: what changed, for those who ask. */
export const listEvents: Endpoint<EventsQuery, Record<string, never>> = {
  methods: ['get'],
  path: '/events',
  bucket: 'events',
  scope: 'events',
  query: Joi.object<EventsQuery>({
    after: cursorField,
    types: typesField,
    limit: Joi.number()
      .integer()
      .min(1)
      .max(1_000)
      .default(500)
      .description('Changes in an answer, about; fewer where people have written long texts.'),
    wait: Joi.number().integer().min(0).max(25).default(0).unit('seconds').description('How long to wait for one.'),
  }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'listEvents',
    summary: 'Read events',
    description:
      'What changed, in order for each recipient and each device; what a person wrote in the order in which it was received: a message ' +
      'that has to be asked of the phone of the account may come up to a minute after later ones. What lies on a node of a Redis Cluster that is away comes once that is back, ' +
      'after what others had to tell; `nextCursor` says so. Ask again with `nextCursor`. Nothing is left out: what is not kept any ' +
      'more, after 7 days, is a 410 with the oldest cursor, as is a cursor ahead of all events. The first call of a workspace starts its events; without a call or a webhook they ' +
      'end after 7 days. A call looks through ten thousand changes: with `types` that are rare it may find none while there are more. ' +
      'A token of a device gets the events of that device. Waiting is for five calls of a token at a time, and ends with the first event: where ' +
      'much happens, wait half a second between calls, or read the stream, as a token has 120 calls a minute.',
    answer: {
      status: 200,
      description: 'Events, the oldest first; perhaps none.',
      body: Joi.object({
        events: Joi.array().items(eventAnswer).required(),
        nextCursor: Joi.string().required(),
      }),
    },
    errors: ['events_gone', 'not_confirmed'],
  },

  async handle(call, deps) {
    const after = await startReading(call, deps);
    const { rows, next } = await waitForEvents(call, deps, after);
    return { status: 200, body: { events: rows.map(({ event }) => event), nextCursor: sayReaderCursor(next) } };
  },
};

async function waitForEvents(call: EventsCall, deps: ApiDeps, after: ReaderPlace): Promise<EventPage> {
  const { workspace, query, token, signal } = call;
  const filter = { ...filterOf(call), limit: query.limit };
  const release = query.wait > 0 ? deps.eventWaits.take(token.keyId) : undefined;
  const deadlineMs = deps.clock.monotonicMs() + query.wait * 1000;
  const bell = waitForBell(deps.eventBells, workspace, signal);
  try {
    for (let next = after, pages = 1, looked = 0; ; pages++) {
      const page = await readPage(call, deps, next, filter);
      looked += page.looked;
      const leftMs = deadlineMs - deps.clock.monotonicMs();
      // One that finds little goes on where it ended.
      const isEnough = page.rows.length > 0 || pages === MOST_PAGES || looked >= MOST_CHANGES;
      const isOver = isEnough || (page.isLast && (!release || leftMs <= 0 || signal.aborted));
      if (isOver) return page;
      if (page.isLast) {
        await bell.next(Math.min(leftMs, untilBackMs(page.next)));
        if (signal.aborted) return page;
        await call.requireToken();
      }
      next = page.next;
    }
  } finally {
    bell.close();
    release?.();
  }
}

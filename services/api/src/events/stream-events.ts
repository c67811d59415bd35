import { Readable } from 'node:stream';
import { parseReaderCursor, sayReaderCursor } from '@gateway/contracts/events/reader-place';
import { LIMITS } from '@gateway/contracts/limits';
import { ApiError } from '@gateway/runtime/errors';
import { noteReading } from '@gateway/store/events/read-log';
import type { EventPage } from '@gateway/store/events/reading/read-events';
import { findApiToken, isUsable } from '@gateway/store/workspace/tokens/api-tokens';
import type { ApiDeps } from '../api-deps.js';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Call, Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { cursorField, filterOf, startReading, typesField, untilBackMs } from './event-fields.js';
import { readPage } from './read-page.js';
import { type BellWait, waitForBell } from './wait-for-bell.js';

interface StreamQuery {
  after?: string;
  types?: string[];
}

type StreamCall = Call<StreamQuery, Record<string, never>>;

/** A comment comes this often, or where it is: proxies end what is silent. Whatever else happens, the token is looked at, and the log is kept open. */
const LOOK_MS = 10_000;
/** A client that takes this long for one event gives its place to others: it goes on behind what it heard when it comes again. */
const SLOW_MS = 30_000;
/** Changes that are rendered at a time. */
const PAGE = 100;

/** `GET /events/stream`: what changed, as it happens. */
export const streamEvents: Endpoint<StreamQuery, Record<string, never>> = {
  methods: ['get'],
  path: '/events/stream',
  bucket: 'events',
  scope: 'events',
  query: Joi.object<StreamQuery>({ after: cursorField, types: typesField }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'streamEvents',
    summary: 'Follow events',
    description:
      'The same as server-sent events: `id` is the cursor, `event` the type, `data` the event. A client that connects again with `Last-Event-ID`, as ' +
      'browsers do, misses nothing. Where nothing is told for ten seconds, and at the start without a cursor, `event: cursor` says how far it has come, with `{}` as `data`; or a ' +
      `comment comes, if that is where it was. ${LIMITS.eventWaitsPerToken} streams of a token at a time in each process of the API, waiting calls included. It ends when the token is revoked, and for a client that takes 30 seconds for one event.`,
    answer: { status: 200, description: 'A stream without an end.', body: Joi.object({}), isStream: true },
    errors: ['events_gone', 'not_confirmed'],
  },

  async handle(call, deps) {
    const release = deps.eventWaits.take(call.token.keyId);
    if (!release) throw new ApiError('rate_limited', { headers: { 'Retry-After': '10' }, resetInSeconds: 10 });
    // Before the first look: what comes after that rings.
    const bell = waitForBell(deps.eventBells, call.workspace, call.signal);
    const end = () => {
      bell.close();
      release();
    };
    try {
      const after = await startReading({ token: call.token, query: { after: goOnAt(call) } }, deps);
      const filter = { ...filterOf(call), limit: PAGE };
      const first = await readPage(call, deps, after, filter);
      const file = Readable.from(tell(call, deps, { first, filter, bell }), { highWaterMark: 1 });
      file.once('close', end);
      // A proxy such as nginx would hold events back until it has some kilobytes of them.
      const headers = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' };
      return { status: 200, headers, file };
    } catch (thrown) {
      end();
      throw thrown;
    }
  },
};

async function* tell(
  call: StreamCall,
  deps: ApiDeps,
  {
    first,
    filter,
    bell,
  }: { first: EventPage; filter: ReturnType<typeof filterOf> & { limit: number }; bell: BellWait },
): AsyncGenerator<string> {
  const { workspace, token, signal } = call;
  const { store, clock, standing } = deps;
  let [lookedMs, notedMs] = [clock.monotonicMs(), clock.monotonicMs()];
  const restMs = () => lookedMs + LOOK_MS - clock.monotonicMs();
  const mayGoOn = async () => {
    const [known] = await Promise.all([findApiToken(store, workspace, token.keyId), standing?.assert()]);
    if (!known || !isUsable(known, clock.nowMs()) || !known.scopes.includes(streamEvents.scope)) return false;
    lookedMs = clock.monotonicMs();
    if (lookedMs - notedMs >= LOOK_MS) {
      await noteReading(store, workspace);
      notedMs = lookedMs;
    }
    return true;
  };
  let said: string | undefined;
  yield 'retry: 2000\n\n';
  // Who comes again before it has heard anything would begin anew then, and miss what happens in between.
  if (goOnAt(call) === undefined && first.rows.length === 0) {
    said = sayReaderCursor(first.next);
    yield sayPlace(said);
  }
  for (let page = first; !signal.aborted; ) {
    // Nothing that happened after its token was revoked is told.
    if (page.rows.length > 0 && !(await mayGoOn())) return;
    const readMs = clock.monotonicMs();
    let { next } = page;
    for (const { event, place } of page.rows) {
      const beganMs = clock.monotonicMs();
      said = sayReaderCursor(place);
      yield `id: ${said}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
      if (clock.monotonicMs() - beganMs > SLOW_MS) return;
      if (restMs() <= 0 && !(await mayGoOn())) return;
      // A person may have been forgotten since it was read.
      if (clock.monotonicMs() - readMs > LOOK_MS) {
        next = place;
        break;
      }
    }
    if (restMs() <= 0) {
      if (!(await mayGoOn())) return;
      const here = sayReaderCursor(next);
      yield here === said ? ': still here\n\n' : sayPlace(here);
      said = here;
    } else if (page.isLast && next === page.next) {
      await bell.next(Math.min(restMs(), untilBackMs(next)));
      if (signal.aborted) return;
    }
    page = await readPage(call, deps, next, filter);
  }
}

/**
 * To go on from there when none of its events come: from where it heard the last one the log may not go back any more. Firefox, and the
 * parser of most clients for Node.js, forget an id that comes without data. No one listens to the name of this event.
 */
const sayPlace = (cursor: string) => `id: ${cursor}\nevent: cursor\ndata: {}\n\n`;

/** What the client heard last, or asks for: one that has heard none may say so with nothing. */
function goOnAt({ lastEventId, query }: StreamCall): string | undefined {
  if (!lastEventId) return query.after;
  if (parseReaderCursor(lastEventId)) return lastEventId;
  throw new ApiError('invalid_request', { details: [{ path: ['Last-Event-ID'], message: 'is no cursor' }] });
}

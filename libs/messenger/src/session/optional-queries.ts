import { GatewayError } from '@gateway/runtime/errors';
import { networkCodeOf, SessionEndedError } from './session-errors.js';

/**
 * Optional queries of a session: the account's own picture, the lookup by number, the two limits on
 * new conversations, and the settings that the devices of an account share.
 */
export const OPTIONAL_QUERIES = ['ownPicture', 'lookUpByNumber', 'lock', 'quota', 'settings'] as const;
export type OptionalQuery = (typeof OPTIONAL_QUERIES)[number];

/**
 * They run one after the other, also at a login, so that an end can be attributed to one of them. Messages wait for the
 * others, and for queries made `besides`.
 */
const IN_TURN: ReadonlySet<OptionalQuery> = new Set(['ownPicture', 'lock', 'quota', 'settings']);
/** A server that rejects a query closes the connection at once, not after this time. */
const SUSPICIOUS_MS = 10_000;
/** A connection that breaks without a reason counts against a query for this long, if nothing arrived after the query. */
const WORDLESS_MS = 1_000;
/** For this long after an answer, a broken connection does not count against the query. */
const ANSWERED_LATELY_MS = 10 * 60_000;
const NO_ANSWER = 408;
const CONNECTION_CLOSED = 428;

/** `spoken`: the network announced the end of the connection; `wordless`: it may have ended it, or the path broke. */
export type EndOfConnection = 'spoken' | 'wordless';

interface OpenQuery {
  query: OptionalQuery;
  askedAtMs: number;
}

/**
 * The unanswered optional queries of one session. The network ends a connection over a query that it
 * rejects; a client that repeats it after each login never gets any further. So the session reports at its end which
 * ones were open, and its owner leaves out those that were open twice in a row.
 */
export class OptionalQueries {
  private turn: Promise<void> = Promise.resolve();
  private hasEnded = false;
  private lastFrameAtMs = Number.NEGATIVE_INFINITY;

  /** @param answered kept over reconnects: when the network last answered each one. */
  constructor(
    private readonly leftOut: ReadonlySet<OptionalQuery> = new Set(),
    private readonly answered: Map<OptionalQuery, number> = new Map(),
    private readonly open = new Set<OpenQuery>(),
  ) {}

  /** For queries that messages wait for: they run at once, but are counted here. */
  besides(): OptionalQueries {
    return new OptionalQueries(this.leftOut, this.answered, this.open);
  }

  /** Something arrived from the network: it has not closed the connection. */
  noteFrame(): void {
    this.lastFrameAtMs = performance.now();
  }

  mayAsk(query: OptionalQuery): boolean {
    return !this.leftOut.has(query);
  }

  /** @param question bounded in time, as others wait for it. */
  ask<Result>(query: OptionalQuery, question: () => Promise<Result>): Promise<Result> {
    if (!IN_TURN.has(query)) return this.watch(query, question);
    const result = this.turn.then(() => {
      // If it ran now, it would be open at an end that began before it.
      if (this.hasEnded) throw new SessionEndedError();
      return this.watch(query, question);
    });
    this.turn = result.then(
      () => {},
      () => {},
    );
    return result;
  }

  private async watch<Result>(query: OptionalQuery, question: () => Promise<Result>): Promise<Result> {
    const entry = { query, askedAtMs: performance.now() };
    this.open.add(entry);
    try {
      const result = await question();
      this.open.delete(entry);
      this.answered.set(query, performance.now());
      return result;
    } catch (thrown) {
      // The query hears of the end of the connection before the session does.
      if (isEnd(thrown)) this.hasEnded = true;
      else {
        this.open.delete(entry);
        if (isRefusal(thrown)) this.answered.set(query, performance.now());
      }
      throw thrown;
    }
  }

  /** The queries that may have caused the end, if the connection ends now; `undefined` if that is unknown. */
  suspects(end: EndOfConnection = 'spoken'): OptionalQuery[] | undefined {
    const nowMs = performance.now();
    const open = [...this.open].filter(({ askedAtMs }) => askedAtMs >= nowMs - SUSPICIOUS_MS);
    const blamed = open.filter((entry) => end === 'spoken' || this.looksLikeHangUp(entry, nowMs));
    if (open.length > 0 && blamed.length === 0) return undefined;
    return OPTIONAL_QUERIES.filter((query) => blamed.some((entry) => entry.query === query));
  }

  /** A list looks up numbers all the time, so that a broken path often coincides with an open query. */
  private looksLikeHangUp({ query, askedAtMs }: OpenQuery, nowMs: number): boolean {
    if (askedAtMs < nowMs - WORDLESS_MS || this.lastFrameAtMs > askedAtMs) return false;
    const answeredAtMs = this.answered.get(query);
    return answeredAtMs === undefined || answeredAtMs < nowMs - ANSWERED_LATELY_MS;
  }
}

function isRefusal(thrown: unknown): boolean {
  const code = networkCodeOf(thrown);
  return code !== undefined && code !== NO_ANSWER;
}

function isEnd(thrown: unknown): boolean {
  // The library rejects with what its socket's `close` event brings: the WebSocket's code.
  if (typeof thrown === 'number') return true;
  const { code, isBoom } = (thrown ?? {}) as { code?: unknown; isBoom?: unknown };
  if (thrown instanceof SessionEndedError || networkCodeOf(thrown) === CONNECTION_CLOSED) return true;
  // Timeouts, and refusals of the network.
  if (thrown instanceof GatewayError) return false;
  // Errors of the socket itself; the library passes on what the network answers as its own kind of error.
  return !isBoom && typeof code === 'string';
}

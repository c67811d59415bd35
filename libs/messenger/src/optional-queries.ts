import { networkCodeOf, SessionEndedError } from './session-errors.js';

/**
 * What a session asks and can do without: the account's own picture, which number has which account, and the two limits
 * on new conversations.
 */
export const OPTIONAL_QUERIES = ['ownPicture', 'lookUpByNumber', 'lock', 'quota'] as const;
export type OptionalQuery = (typeof OPTIONAL_QUERIES)[number];

/** A server that dislikes a question hangs up at once, not after this. */
const SUSPICIOUS_MS = 10_000;
const CONNECTION_CLOSED = 428;

/**
 * The optional queries of one session that are without an answer. The network ends a connection over a question that it
 * does not like; a client that asks it after each login never gets any further. So the session tells at its end which
 * ones were open, and its owner leaves out those that were so twice in a row.
 */
export class OptionalQueries {
  private readonly open = new Set<{ query: OptionalQuery; askedAtMs: number }>();

  constructor(private readonly leftOut: ReadonlySet<OptionalQuery> = new Set()) {}

  mayAsk(query: OptionalQuery): boolean {
    return !this.leftOut.has(query);
  }

  async ask<Result>(query: OptionalQuery, question: () => Promise<Result>): Promise<Result> {
    const entry = { query, askedAtMs: performance.now() };
    this.open.add(entry);
    try {
      const result = await question();
      this.open.delete(entry);
      return result;
    } catch (thrown) {
      // The end of the connection is told to the query before it is told to the session.
      if (!isEnd(thrown)) this.open.delete(entry);
      throw thrown;
    }
  }

  /** Those that the connection may have ended over, if it has ended now. */
  suspects(): OptionalQuery[] {
    const sinceMs = performance.now() - SUSPICIOUS_MS;
    const asked = [...this.open].filter(({ askedAtMs }) => askedAtMs >= sinceMs).map(({ query }) => query);
    return OPTIONAL_QUERIES.filter((query) => asked.includes(query));
  }
}

function isEnd(thrown: unknown): boolean {
  // The library rejects with what its socket's `close` event brings: the WebSocket's code.
  if (typeof thrown === 'number') return true;
  const { code, isBoom } = (thrown ?? {}) as { code?: unknown; isBoom?: unknown };
  if (thrown instanceof SessionEndedError || networkCodeOf(thrown) === CONNECTION_CLOSED) return true;
  // Errors of the socket itself; the library passes on what the network answers as its own kind of error.
  return !isBoom && typeof code === 'string';
}

import { GatewayError } from '@gateway/runtime/errors';
import { networkCodeOf, SessionEndedError } from './session-errors.js';

/**
 * What a session asks and can do without: the account's own picture, which number has which account, and the two limits
 * on new conversations.
 */
export const OPTIONAL_QUERIES = ['ownPicture', 'lookUpByNumber', 'lock', 'quota'] as const;
export type OptionalQuery = (typeof OPTIONAL_QUERIES)[number];

/** Asked one after the other, also at a login, so that the blame for an end is on one of them. Messages wait for the others. */
const IN_TURN: ReadonlySet<OptionalQuery> = new Set(['ownPicture', 'lock', 'quota']);
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
  private turn: Promise<void> = Promise.resolve();
  private hasEnded = false;

  constructor(private readonly leftOut: ReadonlySet<OptionalQuery> = new Set()) {}

  mayAsk(query: OptionalQuery): boolean {
    return !this.leftOut.has(query);
  }

  /** @param question bounded in time: others wait for it. */
  ask<Result>(query: OptionalQuery, question: () => Promise<Result>): Promise<Result> {
    if (!IN_TURN.has(query)) return this.watch(query, question);
    const result = this.turn.then(() => {
      // Asked now, it would be open at an end that came before it.
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
      return result;
    } catch (thrown) {
      // The end of the connection is told to the query before it is told to the session.
      if (isEnd(thrown)) this.hasEnded = true;
      else this.open.delete(entry);
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
  // Silence, and what the network refused.
  if (thrown instanceof GatewayError) return false;
  // Errors of the socket itself; the library passes on what the network answers as its own kind of error.
  return !isBoom && typeof code === 'string';
}

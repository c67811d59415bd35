import { GatewayError } from '@gateway/runtime/errors';
import { networkCodeOf, SessionEndedError } from './session-errors.js';

/**
 * What a session asks and can do without: the account's own picture, which number has which account, the two limits on
 * new conversations, and the settings that the devices of an account share.
 */
export const OPTIONAL_QUERIES = ['ownPicture', 'lookUpByNumber', 'lock', 'quota', 'settings'] as const;
export type OptionalQuery = (typeof OPTIONAL_QUERIES)[number];

/**
 * Asked one after the other, also at a login, so that the blame for an end is on one of them. Messages wait for the
 * others, and for what is asked `besides`.
 */
const IN_TURN: ReadonlySet<OptionalQuery> = new Set(['ownPicture', 'lock', 'quota', 'settings']);
/** A server that dislikes a question hangs up at once, not after this. */
const SUSPICIOUS_MS = 10_000;
/** A connection that breaks without a word is held against a question for this long, if nothing else came after it. */
const WORDLESS_MS = 1_000;
/** Then the network is known to answer it, and a connection that breaks meanwhile has just broken. */
const ANSWERED_LATELY_MS = 10 * 60_000;
const NO_ANSWER = 408;
const CONNECTION_CLOSED = 428;

/** `spoken`: the network said that it ends the connection; `wordless`: it may have, or the path is broken. */
export type EndOfConnection = 'spoken' | 'wordless';

interface OpenQuery {
  query: OptionalQuery;
  askedAtMs: number;
}

/**
 * The optional queries of one session that are without an answer. The network ends a connection over a question that it
 * does not like; a client that asks it after each login never gets any further. So the session tells at its end which
 * ones were open, and its owner leaves out those that were so twice in a row.
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

  /** A line of its own, for questions that messages wait for: they do not wait for their turn here, and count here. */
  besides(): OptionalQueries {
    return new OptionalQueries(this.leftOut, this.answered, this.open);
  }

  /** Something came from the network: it has not hung up. */
  noteFrame(): void {
    this.lastFrameAtMs = performance.now();
  }

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

  /** Those that the connection may have ended over, if it has ended now; `undefined` when nothing can be told of them. */
  suspects(end: EndOfConnection = 'spoken'): OptionalQuery[] | undefined {
    const nowMs = performance.now();
    const open = [...this.open].filter(({ askedAtMs }) => askedAtMs >= nowMs - SUSPICIOUS_MS);
    const blamed = open.filter((entry) => end === 'spoken' || this.looksLikeHangUp(entry, nowMs));
    if (open.length > 0 && blamed.length === 0) return undefined;
    return OPTIONAL_QUERIES.filter((query) => blamed.some((entry) => entry.query === query));
  }

  /** A list asks about numbers all the time, so that a lost path often finds a question open. */
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
  // Silence, and what the network refused.
  if (thrown instanceof GatewayError) return false;
  // Errors of the socket itself; the library passes on what the network answers as its own kind of error.
  return !isBoom && typeof code === 'string';
}

import { type Clock, systemClock } from '@gateway/runtime/clock';
import type { FetchPolicy } from '../fetch-policy.js';
import { Surroundings } from '../surroundings.js';
import { type CheckedClient, openClient } from './checked-client.js';

/** For whom connections are kept: no other has them. */
export interface Keeper {
  name: string;
  /** Another one after each change of where and how it posts. */
  revision: string;
  /** Without a request at one time. */
  most: number;
}

export interface KeptLimits {
  /** Without a request. Default 50 s: load balancers often allow 60 s. */
  idleMs?: number;
  /** Since it was opened: then its name is asked for again. Default 3 min. */
  ageMs?: number;
  /** Without a request, of all keepers. Default 256. */
  most?: number;
  /** For so long a server that could not be reached on a new connection counts as that. Default 3 s. */
  failedMs?: number;
}

const IDLE_MS = 50_000;
const AGE_MS = 3 * 60_000;
const MOST = 256;
const FAILED_MS = 3_000;

/** A connection on which one request after the other may be made. */
export interface KeptConnection extends CheckedClient {
  origin: string;
  policy: FetchPolicy;
  keeper: Keeper;
  openedMs: number;
  /** What may come with the next answer is counted anew. */
  begin(): void;
}

interface Wanted {
  policy: FetchPolicy;
  keeper: Keeper;
}

interface Opening extends Wanted {
  signal: AbortSignal;
  timeoutMs: number;
}

/**
 * Connections that wait for the next request to the same server, for the same keeper and under the same policy. None outlives what its address was
 * checked for: it ends soon when it is not used, and after some minutes also when it is; when its keeper changes or goes; and when they
 * are too many the oldest one of the keeper that has most.
 */
export class KeptConnections {
  readonly #clock: Clock;
  readonly #limits: Required<KeptLimits>;
  /** The one first that has waited longest. */
  readonly #waiting = new Set<KeptConnection>();
  /** By keeper: what was posted again, while it is under way, and for a while after it has failed. */
  readonly #first = new Map<string, Promise<unknown>>();
  #isClosed = false;

  constructor(limits: KeptLimits = {}, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#limits = { idleMs: IDLE_MS, ageMs: AGE_MS, most: MOST, failedMs: FAILED_MS, ...limits };
  }

  open(url: URL, { policy, keeper, signal, timeoutMs }: Opening): KeptConnection {
    let surroundings = new Surroundings(url);
    const opened = openClient(url, {
      surroundings: { came: (bytes) => surroundings.came(bytes) },
      ...{ policy, signal, timeoutMs, idleMs: this.#limits.idleMs },
    });
    const connection: KeptConnection = {
      ...opened,
      ...{ origin: url.origin, policy, keeper, openedMs: this.#clock.monotonicMs() },
      begin: () => {
        surroundings = new Surroundings(url);
      },
    };
    opened.client.once('disconnect', () => this.#end(connection));
    return connection;
  }

  /** The one that was used last: the others come to their end. */
  take(url: URL, wanted: Wanted): KeptConnection | undefined {
    const found = [...this.#waiting].findLast((each) => fits(each, url, wanted) && !this.#isOld(each));
    if (found) this.#waiting.delete(found);
    found?.begin();
    return found;
  }

  /**
   * For what was posted on a connection that had ended: of several requests to a server one is posted again first, and the others once it had an
   * answer. If it had none they fail as it did, and so do those that come within a few seconds: a dead server would get each of them twice.
   */
  async oneFirst<Answer>(
    { name, revision }: Keeper,
    { post, postAfterFirst }: { post(): Promise<Answer>; postAfterFirst(): Promise<Answer> },
  ): Promise<Answer> {
    const place = `${name} ${revision}`;
    const first = this.#first.get(place);
    if (first) {
      await first;
      return postAfterFirst();
    }
    const posting = post();
    this.#first.set(place, posting);
    const forget = () => void this.#first.delete(place);
    posting.then(forget, () => setTimeout(forget, this.#limits.failedMs).unref());
    return posting;
  }

  /** Until it is taken, or its time is over. */
  keep(connection: KeptConnection): void {
    const { name, most } = connection.keeper;
    if (this.#isClosed || this.#isOld(connection) || connection.client.destroyed) return void this.#end(connection);
    this.#waiting.add(connection);
    const ofKeeper = [...this.#waiting].filter(({ keeper }) => keeper.name === name);
    if (ofKeeper.length > most) this.#end(ofKeeper[0]!);
    if (this.#waiting.size > this.#limits.most) this.#end(this.#oldestOfMost());
  }

  /** Of the keeper that has most: those of many requests at a time leave some to the others. */
  #oldestOfMost(): KeptConnection {
    const byKeeper = new Map<string, KeptConnection[]>();
    for (const each of this.#waiting) {
      const { name } = each.keeper;
      byKeeper.set(name, [...(byKeeper.get(name) ?? []), each]);
    }
    return [...byKeeper.values()].reduce((most, each) => (each.length > most.length ? each : most))[0]!;
  }

  /** Those of a keeper, but for what it is now. */
  end(name: string, revision?: string): void {
    for (const each of this.#waiting) {
      if (each.keeper.name === name && each.keeper.revision !== revision) this.#end(each);
    }
  }

  /** Those of all others. */
  endAllBut(names: ReadonlySet<string>): void {
    for (const each of this.#waiting) if (!names.has(each.keeper.name)) this.#end(each);
  }

  /** What is under way is not kept any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#waiting].map((each) => each.close()));
    this.#waiting.clear();
  }

  #isOld({ openedMs }: KeptConnection): boolean {
    return this.#clock.monotonicMs() - openedMs > this.#limits.ageMs;
  }

  #end(connection: KeptConnection): void {
    this.#waiting.delete(connection);
    void connection.close();
  }
}

function fits({ origin, policy, keeper }: KeptConnection, url: URL, wanted: Wanted): boolean {
  const { name, revision } = wanted.keeper;
  return keeper.name === name && keeper.revision === revision && policy === wanted.policy && origin === url.origin;
}

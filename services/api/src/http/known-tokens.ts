import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { type Clock, sleep } from '@gateway/runtime/clock';
import { ApiError } from '@gateway/runtime/errors';
import type { Connections } from '@gateway/runtime/redis/server-of';
import { readerElsewhere } from '@gateway/store/core/confirming/read-elsewhere';
import type { Standing } from '@gateway/store/core/confirming/standing';
import type { Store } from '@gateway/store/core/store';
import { type ApiToken, findApiToken, isUsable } from '@gateway/store/workspace/tokens/api-tokens';
import { findWorkspaceOfToken, findWorkspacesOfTokens } from '@gateway/store/workspace/tokens/token-index';

/** How long a revoked token may go on working: callers that ask often are read once in this time. */
const KNOWN_FOR_MS = 1_000;
/** The name of a workspace is not free for longer, once its tokens are gone (`deleteWorkspace`). */
const SAME_FOR_MS = 1_400;
/** About 5 MB. Beyond it everything is read again. */
const MAX_KNOWN = 10_000;
/** How long questions about doubtful tokens are collected. */
const COLLECT_MS = 50;

export function invalidToken(cause?: Error): ApiError {
  return new ApiError('invalid_token', { headers: { 'WWW-Authenticate': 'Bearer' }, cause });
}

interface Question {
  keyIds: string[];
  answer: Promise<{ found: readonly Promise<Workspace | undefined>[] }>;
}

interface KnownToken {
  token: ApiToken;
  readAtMs: number;
  /** By which connection, where that is asked about: see `confirm`. */
  readBy: Connections | undefined;
}

interface KnownTokensDeps {
  store: Store;
  clock: Clock;
  /** Whether the master is still the one that tokens are revoked at. Where it is not known, none is found: that throws `MasterInDoubtError`. */
  standing?: Pick<Standing, 'stands' | 'assert'> | undefined;
}

/** The records of tokens that were used: believed for a second. Unknown ones are never remembered. */
export class KnownTokens {
  readonly #deps: KnownTokensDeps;
  readonly #known = new Map<string, KnownToken>();
  #question: Question | undefined;

  constructor(deps: KnownTokensDeps) {
    this.#deps = deps;
  }

  /** The record of a token as it was at most a second ago, if it was read by then. */
  get(keyId: string): ApiToken | undefined {
    const known = this.#known.get(keyId);
    const { clock, standing } = this.#deps;
    const isFresh = known && clock.monotonicMs() - known.readAtMs < KNOWN_FOR_MS && standing?.stands() !== false;
    return isFresh ? known.token : undefined;
  }

  /**
   * Reads the record of a token.
   * @param isDoubtful of an address that guesses: whether there is such a token at all is then asked together with others.
   */
  async find(keyId: string, options: { isDoubtful: boolean }): Promise<ApiToken | undefined> {
    const [token] = await Promise.all([this.#read(keyId, options), this.#deps.standing?.assert()]);
    return token;
  }

  async #read(keyId: string, { isDoubtful }: { isDoubtful: boolean }): Promise<ApiToken | undefined> {
    const { store, clock } = this.#deps;
    const known = this.#known.get(keyId);
    // A token stays in its workspace. So one that was valid before waits for no others, whatever else comes from its address.
    const workspace = known?.token.workspace ?? (await this.#findWorkspace(keyId, { isDoubtful }));
    if (workspace === undefined) return undefined;
    const readAtMs = clock.monotonicMs();
    const { devices } = workspaceKeys(store.space, workspace);
    const readBy = store.asksReplicas ? await readerElsewhere(store, devices) : undefined;
    const token = await findApiToken(store, workspace, keyId);
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    if (token) this.#known.set(keyId, { token, readAtMs, readBy });
    else this.#known.delete(keyId);
    return token;
  }

  /**
   * Before what was read is shown: throws `invalid_token` when the workspace has been deleted since its token was found, and what was read may
   * be of the next one of its name. Asks only where there was time for that.
   */
  requireThere(keyId: string): Promise<void> | undefined {
    const known = this.#known.get(keyId);
    if (known && this.#deps.clock.monotonicMs() - known.readAtMs < SAME_FOR_MS) return undefined;
    return this.find(keyId, { isDoubtful: false }).then((token) => {
      if (!token) throw invalidToken();
    });
  }

  /** Of a request that took its time since its token was found: throws `invalid_token` when that has been revoked or expired since. */
  async findAgain(keyId: string): Promise<ApiToken> {
    const token = this.get(keyId) ?? (await this.find(keyId, { isDoubtful: false }));
    if (!token || !isUsable(token, this.#deps.clock.nowMs())) throw invalidToken();
    return token;
  }

  /**
   * On a Cluster, where replicas are waited for: resolves once those of the master by which the record of a token was read, and what its
   * workspace has beside it, have all that this one has. Throws `not_confirmed` when they do not say so: another master may be there, at
   * which the token was revoked; the next request reads it anew. `undefined` where there is nothing to ask.
   */
  confirm({ keyId, workspace }: ApiToken): Promise<void> | undefined {
    const { store } = this.#deps;
    const known = this.#known.get(keyId);
    // Others came in between, and were too many.
    if (!known) return this.findAgain(keyId).then((token) => this.confirm(token));
    if (!known.readBy) return undefined;
    return store.confirmWrites(workspaceKeys(store.space, workspace).devices, known.readBy).catch((thrown: unknown) => {
      known.readAtMs = Number.NEGATIVE_INFINITY;
      throw thrown;
    });
  }

  /** For doubtful ones twenty commands a second at most, however many guesses there are. */
  async #findWorkspace(keyId: string, { isDoubtful }: { isDoubtful: boolean }): Promise<Workspace | undefined> {
    if (!isDoubtful) return findWorkspaceOfToken(this.#deps.store, keyId);
    this.#question ??= this.#collect();
    const { keyIds, answer } = this.#question;
    const place = keyIds.push(keyId) - 1;
    return (await answer).found[place];
  }

  #collect(): Question {
    const keyIds: string[] = [];
    const answer = sleep(COLLECT_MS).then(() => {
      this.#question = undefined;
      return { found: findWorkspacesOfTokens(this.#deps.store, keyIds) };
    });
    return { keyIds, answer };
  }
}

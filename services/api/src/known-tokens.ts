import type { Workspace } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import { type ApiToken, findApiToken } from '@gateway/store/api-tokens';
import type { Store } from '@gateway/store/store';

/** How long a revoked token may go on working: callers that ask often are read once in this time. */
const KNOWN_FOR_MS = 1_000;
/** About 5 MB. Beyond it everything is read anew. */
const MAX_KNOWN = 10_000;

/** The records of tokens that were used within the last second. Unknown ones are never remembered. */
export class KnownTokens {
  private readonly known = new Map<string, { token: ApiToken; readAtMs: number }>();

  constructor(private readonly deps: { store: Store; workspace: Workspace; clock: Clock }) {}

  /** The record of a token as it was at most a second ago. */
  async find(keyId: string): Promise<ApiToken | undefined> {
    const { store, workspace, clock } = this.deps;
    const known = this.known.get(keyId);
    if (known && clock.monotonicMs() - known.readAtMs < KNOWN_FOR_MS) return known.token;
    const readAtMs = clock.monotonicMs();
    const token = await findApiToken(store, workspace, keyId);
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    if (token) this.known.set(keyId, { token, readAtMs });
    else this.known.delete(keyId);
    return token;
  }
}

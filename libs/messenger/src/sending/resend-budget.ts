import { type ResendTally, withoutPerson } from '@gateway/contracts/devices/resend-tally';
import type { AuthState } from '../keys/auth-state.js';
import type { AuthenticationCreds } from '../socket/baileys.js';

/** Credentials as stored: the library keeps fields that it does not know. */
type StoredCreds = AuthenticationCreds & { resends?: ResendTally };

export interface ResendBudgetDeps {
  creds: StoredCreds;
  saveCreds(): Promise<void>;
  nowMs(): number;
}

const HOUR_MS = 60 * 60_000;
const MOST_PER_CONTACT = 20;
const MOST_PER_ACCOUNT = 200;

/**
 * How many messages go out once more because a phone asked for them: floods of these lock accounts. The library counts
 * only per message, and only in memory. This tally is stored with the credentials, so that it continues
 * in the next process; it also bounds the whole account.
 */
export class ResendBudget {
  readonly #deps: ResendBudgetDeps;

  constructor(deps: ResendBudgetDeps) {
    this.#deps = deps;
  }

  /** Which limit would be exceeded by this many more messages; counts nothing. */
  limitOf(contact: string, messages: number): 'contact' | 'account' | undefined {
    const { counts } = this.#current();
    const all = counts.reduce((sum, [, count]) => sum + count, 0);
    const own = new Map(counts).get(contact) ?? 0;
    if (own + messages > MOST_PER_CONTACT) return 'contact';
    return all + messages > MOST_PER_ACCOUNT ? 'account' : undefined;
  }

  /** Counts `messages` and allows them; or returns the reason against it, and counts nothing. */
  async take(contact: string, messages: number): Promise<'granted' | 'contact' | 'account'> {
    const limit = this.limitOf(contact, messages);
    if (limit) return limit;
    const tally = this.#current();
    const counts = new Map(tally.counts);
    counts.set(contact, (counts.get(contact) ?? 0) + messages);
    this.#deps.creds.resends = { ...tally, counts: [...counts] };
    await this.#deps.saveCreds();
    return 'granted';
  }

  /** A clock that went backwards starts a new hour: it must not delay resends. */
  #current(): ResendTally {
    const nowMs = this.#deps.nowMs();
    const stored = this.#deps.creds.resends;
    const isOver = !stored || nowMs < stored.sinceMs || nowMs - stored.sinceMs >= HOUR_MS;
    return isOver ? { sinceMs: nowMs, counts: [] } : stored;
  }
}

/** Deletes the resend count of a person; keys that were on their way to the store are there afterwards. Safe to repeat. */
export async function forgetResends(auth: AuthState, users: ReadonlySet<string>): Promise<void> {
  const creds: StoredCreds = auth.creds;
  const resends = withoutPerson(creds.resends, users);
  if (resends) creds.resends = resends;
  await auth.saveCreds();
}

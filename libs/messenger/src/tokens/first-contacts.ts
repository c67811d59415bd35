import { systemClock } from '@gateway/runtime/clock';
import type { HistoryCreds } from '../history/own-creds.js';
import type { AuthState } from '../keys/auth-state.js';
import type { ContactTokens } from './contact-tokens.js';

/**
 * Whether messages to strangers may go out. `awaitingHistory`: the device was linked a moment ago, and its phone has not
 * sent the history with the salt yet; sent now, they would be refused. `refused`: several in a row were, for there is no
 * salt; the others wait until one arrives, or the device is linked again.
 */
export type FirstContactStanding = 'open' | 'awaitingHistory' | 'refused';

/** How long a newly linked device waits for the history: by default, and when the network requires tokens made from the salt. */
const HISTORY_MS = 5_000;
export const HISTORY_WAIT_MS = 120_000;
const MOST_REFUSED = 3;

/** Call it when a phone has accepted the link, and save the credentials then. */
export function noteLinking(creds: HistoryCreds): void {
  creds.linkedAtMs = systemClock.nowMs();
}

/** Its state is stored with the credentials: kept for the next session, gone with the next link. */
export class FirstContacts {
  readonly #deps: { auth: AuthState; tokens: Pick<ContactTokens, 'findGivers'> };

  constructor(deps: { auth: AuthState; tokens: Pick<ContactTokens, 'findGivers'> }) {
    this.#deps = deps;
  }

  get standing(): FirstContactStanding {
    const { nctSalt, showsTokens, hasHistory, linkedAtMs, strangersRefused = 0 } = this.#creds;
    if (nctSalt || showsTokens?.made === false) return 'open';
    if (showsTokens?.made && strangersRefused >= MOST_REFUSED) return 'refused';
    // An imported session had its history in the other program: none will come.
    if (hasHistory || linkedAtMs === undefined) return 'open';
    const waitMs = showsTokens?.made ? HISTORY_WAIT_MS : HISTORY_MS;
    // The clock of the process that linked the device may be ahead of ours.
    return Math.abs(systemClock.nowMs() - linkedAtMs) < waitMs ? 'awaitingHistory' : 'open';
  }

  /** Counts the refusal if it was for a missing token. Rejects when keys cannot be read or written: then the session ends. */
  async refused(number: string): Promise<void> {
    const { nctSalt, showsTokens } = this.#creds;
    if (nctSalt || !showsTokens?.made || !(await this.#isStranger(number))) return;
    const refused = this.#creds.strangersRefused ?? 0;
    if (refused < MOST_REFUSED) await this.#count(refused + 1);
  }

  async accepted(number: string): Promise<void> {
    if (this.#creds.strangersRefused && (await this.#isStranger(number))) await this.#count(0);
  }

  async #isStranger(number: string): Promise<boolean> {
    return (await this.#deps.tokens.findGivers([number])).size === 0;
  }

  async #count(refused: number): Promise<void> {
    this.#creds.strangersRefused = refused;
    await this.#deps.auth.saveCreds();
  }

  get #creds(): HistoryCreds {
    return this.#deps.auth.creds;
  }
}

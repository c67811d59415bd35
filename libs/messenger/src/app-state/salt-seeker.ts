import type { Agent } from 'node:https';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { HistoryCreds } from '../history/own-creds.js';
import type { AuthState } from '../keys/auth-state.js';
import type { OptionalQueries } from '../session/optional-queries.js';
import { within } from '../session/within.js';
import type { BaileysSocket } from '../socket/baileys.js';
import { HISTORY_WAIT_MS } from '../tokens/first-contacts.js';
import { fetchSettings } from './fetch-settings.js';
import { readSalt } from './read-salt.js';

export interface SaltSeekerDeps {
  sock: BaileysSocket;
  auth: AuthState;
  optional: OptionalQueries;
  logger: Logger;
  agent?: Agent | undefined;
  /** Aborted when the session ends. */
  signal: AbortSignal;
  /** Resolves when the first history was taken. */
  historyTaken: Promise<void>;
}

/** Where an account's devices share the salt. */
const COLLECTION = 'regular_high';
const MOST_ATTEMPTS = 3;
/** Other optional questions wait for this one. */
const QUERY_MS = 8_000;
const ALL_MS = 60_000;

/**
 * Looks for the salt in the settings that the devices of an account share, when its first history brought none, or was
 * sent to the program from which the keys come: once for an account, by at most three attempts, each in a session of its own.
 * Nothing waits for it, and nothing but the salt is kept.
 */
export class SaltSeeker {
  readonly #deps: SaltSeekerDeps;

  constructor(deps: SaltSeekerDeps) {
    this.#deps = deps;
  }

  /** To be called when the connection is open. Never rejects. */
  async seek(): Promise<void> {
    const { signal, historyTaken, logger } = this.#deps;
    try {
      if (!this.#isWanted) return;
      await Promise.race([historyTaken, sleep(this.#historyWaitMs, signal)]);
      // The keys of the settings come before the history.
      if (!this.#isWanted || !this.#creds.myAppStateKeyId || signal.aborted) return;
      await this.#look();
    } catch (thrown) {
      if (!signal.aborted) logger.warn('the salt was not found in the settings', { error: toError(thrown) });
    }
  }

  get #creds(): HistoryCreds {
    return this.#deps.auth.creds;
  }

  get #isWanted(): boolean {
    const { nctSalt, showsTokens, saltAttempts = 0 } = this.#creds;
    const isOfUse = !nctSalt && showsTokens?.made !== false;
    return isOfUse && saltAttempts < MOST_ATTEMPTS && this.#deps.optional.mayAsk('settings');
  }

  /** An imported session had its history in the other program: none will come. */
  get #historyWaitMs(): number {
    const { linkedAtMs } = this.#creds;
    return linkedAtMs === undefined ? 0 : Math.max(0, linkedAtMs + HISTORY_WAIT_MS - systemClock.nowMs());
  }

  async #look(): Promise<void> {
    const { sock, auth, optional, agent, logger } = this.#deps;
    // Before: an attempt that ends the connection is one, too.
    await this.#note((this.#creds.saltAttempts ?? 0) + 1);
    const signal = AbortSignal.any([this.#deps.signal, AbortSignal.timeout(ALL_MS)]);
    const limit = { timeoutMs: QUERY_MS, what: 'settings', signal };
    const records = await fetchSettings(
      { sock, agent, signal, ask: (question) => optional.ask('settings', () => within(limit, question())) },
      COLLECTION,
    );
    const found = await readSalt(
      records,
      async (id) => (await auth.keys.get('app-state-sync-key', [id]))[id]?.keyData ?? undefined,
    );
    logger.info('the salt was looked for in the settings', { found: found.kind });
    // A history may have brought one meanwhile.
    if (found.kind === 'found') this.#creds.nctSalt ??= found.salt.toString('base64');
    if (found.kind !== 'unknown') await this.#note(MOST_ATTEMPTS);
  }

  async #note(attempts: number): Promise<void> {
    this.#creds.saltAttempts = attempts;
    await this.#deps.auth.saveCreds();
  }
}

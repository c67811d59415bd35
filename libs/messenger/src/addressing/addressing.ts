import { defer } from '@gateway/runtime/deferred';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { AckOutcome } from '../codes/ack-outcomes.js';
import type { AuthenticationCreds } from '../socket/baileys.js';
import {
  type AddressingState,
  afterBothRefused,
  mayMeanAddress,
  mayProbe,
  type Namespace,
  namespaceOf,
  otherNamespace,
  readAddressing,
  type StoredCreds,
} from './addressing-state.js';

export interface AddressingDeps {
  creds: AuthenticationCreds;
  saveCreds(): Promise<void>;
  /** Whether the account may start no new conversations: then 463 says nothing about the address. Rejects when the network does not tell. */
  isRestricted(): Promise<boolean>;
  logger: Logger;
  nowMs(): number;
  /** Aborted when the session ends: nothing waits after that. */
  signal: AbortSignal;
}

/** One message in one namespace. */
export interface Attempt {
  readonly namespace: Namespace;
  /** Called with the network's verdict; resolves with the final one. */
  settle(verdict: AckOutcome, message: SentMessage): Promise<AckOutcome>;
  /** Nothing was written. */
  cancel(): void;
}

/** The message of an attempt. */
export interface SentMessage {
  /** It showed the network that this person may be written to: a refusal is not for want of that. */
  withToken: boolean;
  /** Sends it once more, under the same id, in another namespace; `undefined` when it could not be written. */
  again(namespace: Namespace): Promise<AckOutcome | undefined>;
}

/**
 * The namespace in which an account writes to people: taken from what its phone and the network say, else learned from
 * the network's verdicts.
 *
 *   unknown -> lid, or pn (the first message that the network accepts decides)
 *   lid <-> pn (a refusal that means the address: the same message once in the other namespace, and that was accepted)
 *   -> lid, or pn (the phone says so; told, until the first message that the network accepts)
 *
 * One message at a time tests a namespace, and the others wait for its result. A namespace is never tested per
 * recipient: each refusal counts against the account.
 */
export class Addressing {
  readonly #deps: AddressingDeps;
  readonly #creds: StoredCreds;
  /** Settles when the message that tests a namespace has its verdict. */
  #probe: Promise<void> | undefined;

  constructor(deps: AddressingDeps) {
    this.#deps = deps;
    this.#creds = deps.creds;
  }

  get state(): AddressingState {
    return readAddressing(this.#creds);
  }

  /** The phone of the account has migrated to hidden identifiers, or has not. The network judges that by the next message. */
  async learn(namespace: Namespace): Promise<void> {
    if (this.state.namespace === namespace) return;
    this.#deps.logger.info('namespace of the account learned from its phone', { namespace });
    await this.#save({ namespace, isTold: true });
  }

  /** The network reports whether the account may have migrated: that only decides which name is tested first. */
  async noteMigrationSetting(isEnabled: boolean): Promise<void> {
    if (this.#creds.isMigrationEnabled === isEnabled) return;
    this.#creds.isMigrationEnabled = isEnabled;
    await this.#deps.saveCreds();
  }

  /**
   * Chooses the namespace of a message, after the message that is trying one out.
   * @param hasLid whether the recipient has a hidden identifier; without one there is no choice.
   */
  async begin({ hasLid }: { hasLid: boolean }): Promise<Attempt> {
    while (this.#probe && !this.#deps.signal.aborted) await this.#probe;
    if (!hasLid) return this.#attempt('pn', { canSwitch: false });
    const { namespace, isTold } = this.state;
    const isUnproven = (namespace === 'unknown' || isTold) && this.#mayProbe({ withToken: false });
    return this.#attempt(namespaceOf(this.#creds), {
      canSwitch: true,
      endProbe: isUnproven ? this.#startProbe() : undefined,
    });
  }

  #attempt(
    namespace: Namespace,
    { canSwitch, endProbe }: { canSwitch: boolean; endProbe?: (() => void) | undefined },
  ): Attempt {
    return {
      namespace,
      cancel: () => endProbe?.(),
      settle: async (verdict, message) => {
        try {
          if (verdict.kind === 'accepted') await this.#accepted(namespace);
          if (!canSwitch || !mayMeanAddress(this.state, namespace, verdict)) return verdict;
          return await (endProbe
            ? this.#tryOther(namespace, verdict, message)
            : this.#contest(namespace, verdict, message));
        } finally {
          endProbe?.();
        }
      },
    };
  }

  /** Several messages may be refused together: the first tests the other namespace, the rest use its result. */
  async #contest(used: Namespace, verdict: AckOutcome, message: SentMessage): Promise<AckOutcome> {
    while (this.#probe && !this.#deps.signal.aborted) await this.#probe;
    const current = namespaceOf(this.#creds);
    if (current !== used) return (await message.again(current)) ?? verdict;
    if (!this.#mayProbe(message)) return verdict;
    const endProbe = this.#startProbe();
    try {
      return await this.#tryOther(used, verdict, message);
    } finally {
      endProbe();
    }
  }

  /** @param refusal in the namespace `used`. */
  async #tryOther(used: Namespace, refusal: AckOutcome, { again, withToken }: SentMessage): Promise<AckOutcome> {
    const { isRestricted, logger, signal } = this.#deps;
    // A network that does not answer whether it restricts the account must not stop all messages permanently.
    if (refusal.kind === 'restricted' && (await isRestricted().catch(() => false))) return refusal;
    if (signal.aborted) return refusal;
    const other = otherNamespace(used);
    logger.warn('message refused for its address, retrying in the other namespace', { namespace: other });
    const verdict = await again(other);
    if (!verdict) return refusal;
    if (verdict.kind === 'accepted') await this.#save({ namespace: other });
    if (verdict.kind !== 'refused' && verdict.kind !== 'restricted') return verdict;
    await this.#noteBothRefused({ hiddenCode: codeOf(used === 'lid' ? refusal : verdict), withToken });
    return namespaceOf(this.#creds) === other ? verdict : refusal;
  }

  async #noteBothRefused({ hiddenCode, withToken }: { hiddenCode: number; withToken: boolean }): Promise<void> {
    const bothRefused = { atMs: this.#deps.nowMs(), withToken };
    await this.#save(afterBothRefused(this.state, hiddenCode, bothRefused));
  }

  #mayProbe({ withToken }: { withToken: boolean }): boolean {
    return mayProbe(this.state, { nowMs: this.#deps.nowMs(), withToken });
  }

  /** Proof from the network: the account's namespace is the one in which it accepts messages. */
  async #accepted(used: Namespace): Promise<void> {
    const { namespace, isTold, bothRefused } = this.state;
    // A message from before the phone's report proves nothing against it.
    if (namespace !== 'unknown' && !(isTold && namespace === used)) return;
    this.#deps.logger.info('namespace of the account is proven', { namespace: used });
    // A message that shows no token is no better a witness than before.
    await this.#save({ namespace: used, ...(bothRefused && { bothRefused }) });
  }

  #startProbe(): () => void {
    const { signal } = this.#deps;
    const { promise, resolve } = defer<void>();
    const end = () => {
      signal.removeEventListener('abort', end);
      this.#probe = undefined;
      resolve();
    };
    signal.addEventListener('abort', end);
    this.#probe = promise;
    return end;
  }

  async #save(state: AddressingState): Promise<void> {
    this.#creds.addressing = state;
    await this.#deps.saveCreds();
  }
}

function codeOf(verdict: AckOutcome): number {
  return 'code' in verdict ? verdict.code : 0;
}

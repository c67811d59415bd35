import { defer } from '@gateway/runtime/deferred';
import { toError } from '@gateway/runtime/errors';
import { SessionEndedError } from '../session/session-errors.js';
import type { KeyChanges, KeyStorePort } from './key-store-port.js';

type KeyChange = NonNullable<KeyChanges['keys']>[number];

export interface KeyWriterDeps {
  keyStore: KeyStorePort;
  /** Called once, with the first failure. */
  onFailure(error: Error): void;
}

interface Batch {
  creds?: string;
  keys: Map<string, KeyChange>;
  contacts: Set<string>;
  /** A caller waits for it. */
  hurry(): void;
  done: Promise<void>;
}

/** Each message of a list changes a key of the account's other devices: the keys of those that follow soon travel together. */
const GATHER_MS = 10;

/**
 * Writes keys one commit after the other; what arrives during a commit, or soon after it and without a caller that waits,
 * goes together into the next.
 * So the store sees changes in the order in which they were made, each key once, and creds with the keys they belong to.
 *
 * The first failure is the last write: the cache above is ahead of the store from then on, and what the session would
 * write next builds on keys that do not exist. Every later write is rejected with the same error.
 */
export class KeyWriter {
  readonly #deps: KeyWriterDeps;
  #next: Batch | undefined;
  #running: Promise<void> = Promise.resolve();
  #failure: Error | undefined;
  #closed = false;
  #committedAtMs = 0;

  constructor(deps: KeyWriterDeps) {
    this.#deps = deps;
  }

  /** Why nothing is taken any more: the first failure, or the end. */
  get refusal(): Error | undefined {
    return this.#failure ?? (this.#closed ? new SessionEndedError() : undefined);
  }

  /**
   * Resolves when the changes are in the store.
   * @param options.isAwaited a caller does nothing before that; default: so it is.
   */
  write({ creds, keys = [], contacts = [] }: KeyChanges, { isAwaited = true } = {}): Promise<void> {
    const { refusal } = this;
    if (refusal) return Promise.reject(refusal);
    this.#next ??= this.#openBatch();
    const batch = this.#next;
    if (creds !== undefined) batch.creds = creds;
    for (const change of keys) batch.keys.set(`${change.type}/${change.id}`, change);
    for (const contact of contacts) batch.contacts.add(contact);
    if (isAwaited) batch.hurry();
    return batch.done;
  }

  /** A caller waits for what was handed in. */
  hurry(): void {
    this.#next?.hurry();
  }

  /**
   * Resolves when all that was handed in is in the store; rejects when some of it is not. Nothing is taken after it: the
   * library goes on with what it has received when its socket is gone, and the keys may be another session's by then.
   */
  async drain(): Promise<void> {
    this.#closed = true;
    this.hurry();
    await (this.#next?.done ?? this.#running);
    if (this.#failure) throw this.#failure;
  }

  #openBatch(): Batch {
    const { promise: hurried, resolve: hurry } = defer<void>();
    const batch: Batch = { keys: new Map(), contacts: new Set(), hurry, done: Promise.resolve() };
    batch.done = this.#running.then(() => this.#gather(hurried)).then(() => this.#commit(batch));
    // Callers that wait for the batch get its error; later ones check `#failure`.
    this.#running = batch.done.catch(() => {});
    return batch;
  }

  /** Until the last commit is a moment ago; the first is not held up. */
  async #gather(hurried: Promise<void>): Promise<void> {
    const restMs = this.#committedAtMs + GATHER_MS - performance.now();
    if (restMs <= 0) return;
    const { promise, resolve } = defer<void>();
    const timer = setTimeout(resolve, restMs);
    void hurried.then(resolve);
    await promise;
    clearTimeout(timer);
  }

  async #commit(batch: Batch): Promise<void> {
    this.#next = undefined;
    if (this.#failure) throw this.#failure;
    try {
      await this.#deps.keyStore.commit({
        ...(batch.creds !== undefined && { creds: batch.creds }),
        ...(batch.keys.size > 0 && { keys: [...batch.keys.values()] }),
        ...(batch.contacts.size > 0 && { contacts: [...batch.contacts] }),
      });
    } catch (thrown) {
      this.#failure = toError(thrown);
      this.#deps.onFailure(this.#failure);
      throw this.#failure;
    } finally {
      this.#committedAtMs = performance.now();
    }
  }
}

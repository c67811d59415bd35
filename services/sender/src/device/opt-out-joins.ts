import type { KnownPerson, MessengerSession } from '@gateway/messenger/session/session-types';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import type { Lease } from '@gateway/store/fleet/leases';
import { findHiddenWishes } from '@gateway/store/workspace/hidden-opt-outs';
import { joinOptOuts } from './join-opt-outs.js';

interface JoinsDeps {
  store: Store;
  lease: Lease;
  logger: Logger;
}

/** Of one look-up. More are not kept: a phone may name thousands, and who is left out is joined at a message to them. */
const MOST_WAITING = 100;

/**
 * Joins the two names of people who opted out under a hidden identifier as soon as their number is heard of: from the
 * phone, its history, or the network. A phone may make up a pair, which would move a wish to the number of another: so
 * the network is asked for each number, and its own answer decides.
 */
export class OptOutJoins {
  private readonly waiting = new Set<string>();
  private session: MessengerSession | undefined;
  private isRunning = false;

  constructor(private readonly deps: JoinsDeps) {}

  attach(session: MessengerSession): void {
    this.session = session;
    void this.joinWaiting();
  }

  detach(): void {
    this.session = undefined;
  }

  /** These numbers and hidden identifiers are said to belong together. Called often. */
  numbersKnown(people: readonly KnownPerson[]): void {
    this.take(people).catch((thrown: unknown) => this.failed(thrown));
  }

  private async take(people: readonly KnownPerson[]): Promise<void> {
    const { store, lease } = this.deps;
    const hiddenIds = people.map(({ hiddenId }) => hiddenId);
    const wishes = await findHiddenWishes(store, lease.address.workspace, hiddenIds);
    for (const { phone, hiddenId } of people) {
      if (wishes.has(hiddenId) && this.waiting.size < MOST_WAITING) this.waiting.add(phone);
    }
    await this.joinWaiting();
  }

  private async joinWaiting(): Promise<void> {
    if (this.isRunning) return;
    this.isRunning = true;
    try {
      while (this.session && this.waiting.size > 0) {
        const numbers = [...this.waiting];
        this.waiting.clear();
        await this.session.lookUp(numbers);
        if (this.session) await joinOptOuts(this.deps, this.session, numbers);
      }
    } catch (thrown) {
      this.failed(thrown);
    } finally {
      this.isRunning = false;
    }
  }

  /** Nothing is lost by it: a message asks under both names. */
  private failed(thrown: unknown): void {
    this.deps.logger.debug('opt-outs not joined', { error: toError(thrown) });
  }
}

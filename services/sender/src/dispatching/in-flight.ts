import type { WorkItem } from '../scheduling/send-progress.js';
import type { Written } from './dispatch-message.js';
import type { LibraryTurns } from './library-turns.js';
import type { RedisDistance } from './redis-distance.js';

/** Messages claimed and not yet answered: 300 a second at a round trip of 100 ms. An OTP comes behind those written. */
export const MAX_UNANSWERED = 32;
/** In addition, for OTPs only: a full list must not make them wait for an answer. */
const MAX_UNANSWERED_OTPS = 16;

export interface InFlightDeps {
  turns: Pick<LibraryTurns, 'limit' | 'limitOfOtps'>;
  distance: Pick<RedisDistance, 'mostUnstored'>;
  /** One is no longer in flight. */
  onEnded(item: WorkItem): void;
  /** There may be room for another one. */
  onRoom(): void;
  onFailed(thrown: unknown): void;
}

/** The messages of a device in flight: being written, without an answer, or with one that is not yet stored. */
export class InFlight {
  /** The one in flight, if any, must be the only one. */
  isAlone = false;
  /** Started and not yet written. */
  private relays = 0;
  private unanswered = 0;
  /** Written, and the verdict is not yet stored, answered or not. */
  private unstored = 0;

  constructor(private readonly deps: InFlightDeps) {}

  /** Every message that was started has its verdict in Redis. */
  get isEmpty(): boolean {
    return this.relays + this.unstored === 0;
  }

  hasRoom({ otpOnly }: { otpOnly: boolean }): boolean {
    const most = MAX_UNANSWERED + (otpOnly ? MAX_UNANSWERED_OTPS : 0);
    return this.relays + this.unanswered < most && this.relays + this.unstored < most + this.deps.distance.mostUnstored;
  }

  /** Whether the library has use for one more. */
  get hasTurn(): boolean {
    return this.relays < this.deps.turns.limit;
  }

  get hasTurnForOtp(): boolean {
    return this.relays < this.deps.turns.limitOfOtps;
  }

  follow(item: WorkItem, writing: Promise<Written | undefined>): void {
    const { onEnded, onRoom, onFailed } = this.deps;
    this.isAlone = item.isAlone;
    this.relays++;
    void writing
      .then((written) => {
        if (!written) return onEnded(item);
        this.unanswered++;
        this.unstored++;
        void written.answered.then(() => {
          if (this.relays + this.unanswered-- >= MAX_UNANSWERED) onRoom();
        });
        void written.settled
          .then(() => onEnded(item))
          .catch(onFailed)
          .finally(() => {
            this.unstored--;
            onRoom();
          });
      })
      .catch(onFailed)
      .finally(() => {
        this.relays--;
        onRoom();
      });
  }
}

import type { Clock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';

export interface StandingDeps {
  /** Whether the master keeps what it has taken until now. */
  masterStands: () => Promise<boolean>;
  clock: Pick<Clock, 'monotonicMs'>;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** So long an answer counts for what is begun. */
  freshMs: number;
  /** What becomes of it while the master is in doubt, for the log. */
  meanwhile: string;
}

/** Nothing is begun meanwhile. `Standing` tells once when that begins and when it is over: who tries again need not. */
export class MasterInDoubtError extends GatewayError {
  constructor() {
    super({ code: 'master_in_doubt', message: 'the master of Redis may have been replaced' });
  }
}

/**
 * What a process knows of the master of Redis. One that is cut off together with the process goes on taking what it writes, while
 * the others have elected another one, and who asks only this one never hears of it.
 */
export class Standing {
  private stood = true;
  /** Of the last answer, by the monotonic clock: counted from before it was asked for. */
  private askedAtMs = Number.NEGATIVE_INFINITY;
  private asking: Promise<unknown> | undefined;

  constructor(private readonly deps: StandingDeps) {}

  /** Asks now: the answer is about all that the master has taken before. */
  async ask(): Promise<boolean> {
    const { masterStands, clock } = this.deps;
    const askedAtMs = clock.monotonicMs();
    const stands = await masterStands().catch(() => false);
    // One that was slow is no news.
    if (askedAtMs >= this.askedAtMs) this.note(stands, askedAtMs);
    return stands;
  }

  /**
   * By an answer that is fresh. Returns the monotonic ms at which it was asked for.
   * @throws MasterInDoubtError
   */
  async assert(): Promise<number> {
    const { clock, freshMs } = this.deps;
    if (clock.monotonicMs() - this.askedAtMs >= freshMs) await this.askTogether();
    if (!this.stood) throw new MasterInDoubtError();
    return this.askedAtMs;
  }

  /** The same without waiting, for what is begun all the time: asks anew when half of that time is over, so that an answer is there by its end. */
  stands(): boolean {
    const { clock, freshMs } = this.deps;
    const ageMs = clock.monotonicMs() - this.askedAtMs;
    if (ageMs >= freshMs / 2) void this.askTogether();
    return this.stood && ageMs < freshMs;
  }

  private askTogether(): Promise<unknown> {
    this.asking ??= this.ask().finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private note(stands: boolean, askedAtMs: number): void {
    const { logger, meanwhile } = this.deps;
    if (this.stood && !stands) logger.warn(`the master of Redis may have been replaced: ${meanwhile}`);
    if (!this.stood && stands) logger.info('the master of Redis is known to be the master again');
    this.stood = stands;
    this.askedAtMs = askedAtMs;
  }
}

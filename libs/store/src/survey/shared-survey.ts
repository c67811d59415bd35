import { surveyKeys } from '@gateway/contracts/redis-keys';
import type { Clock } from '@gateway/runtime/clock';
import { type Store, writeAlways } from '../core/store.js';
import { type Survey, surveyFleet } from './survey-fleet.js';

/** Several scrapes in one of these get the same numbers, whatever number of processes and Prometheuses. */
const FRESH_MS = 10_000;
const KEPT_MS = 60_000;
/** A scrape waits no longer: it has the last numbers instead, and their age. */
const PATIENCE_MS = 1_500;

/**
 * What all processes know of the installation: one of them looks, and the others read what it found, so the cost in Redis does not
 * grow with their number.
 */
export class SharedSurvey {
  /** The last that was heard of. */
  known: Survey | undefined;
  private reading: Promise<void> | undefined;
  private readAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly deps: { store: Store; clock: Clock }) {}

  /** Never rejects, and takes a bounded time. */
  async read(): Promise<Survey | undefined> {
    const { clock } = this.deps;
    // All metrics of one scrape ask.
    if (clock.monotonicMs() - this.readAtMs > FRESH_MS / 2) {
      this.reading ??= this.refresh()
        .catch(() => undefined)
        .finally(() => {
          this.reading = undefined;
        });
    }
    if (this.reading) await Promise.race([this.reading, patience()]);
    return this.known;
  }

  private async refresh(): Promise<void> {
    const { store, clock } = this.deps;
    const { survey, turn } = surveyKeys(store.space);
    const shared = await store.redis.get(survey);
    if (shared !== null) this.known = JSON.parse(shared) as Survey;
    // One of a time to come was made while the clock of Redis was ahead.
    const isFresh = shared !== null && Math.abs(clock.nowMs() - this.known!.atMs) < FRESH_MS;
    if (!isFresh && (await takeTurn(store, turn))) {
      this.known = await surveyFleet(store, clock.nowMs());
      await writeAlways(store, 'SET', survey, JSON.stringify(this.known), 'PX', KEPT_MS);
    }
    this.readAtMs = clock.monotonicMs();
  }
}

/** One process at a time; when it dies over it, the next one a moment later. One that was taken while the clock was ahead is over. */
async function takeTurn(store: Store, turn: string): Promise<boolean> {
  const isTaken = (await writeAlways(store, 'SET', turn, '1', 'PX', PATIENCE_MS, 'NX')) === 'OK';
  return isTaken || (await store.redis.pexpire(turn, PATIENCE_MS, 'LT')) === 1;
}

function patience(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, PATIENCE_MS).unref();
  });
}

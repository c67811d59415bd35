import { wasTaken } from '@gateway/contracts/webhooks/webhook';
import { isAsTaken } from '@gateway/store/webhooks/delivering/deliveries';
import type { TellLane } from '@gateway/store/webhooks/delivering/lanes';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { wasOtherTaken } from './failing-claims.js';
import type { Delivery, Told } from './feed.js';
import { requestBytes } from './log/held-texts.js';
import { type Answered, confirmClaim, GONE, keeperOf, post, type Work, wasRefused } from './work.js';

/** The answer that counts: the first failure, or the last one; and all that is about those of whom all was taken. */
export interface PostedTold extends Answered {
  takenTold: Told[];
  /** What was answered that is no success, with what follows for its recipient. */
  refusedTold: Told[];
  /** How many failed beside the one that the clock of the endpoint counts. */
  beside: number;
}

/** Not where the endpoint was changed in between. */
export const wasAllTaken = ({ attempt, takenTold }: PostedTold, told: readonly Told[]): boolean =>
  wasTaken(attempt) && takenTold.length === told.length;

/**
 * Posts changes in one request; and events, each in its own, those of one recipient in order, several recipients at a time if the endpoint
 * wants that. After a failure nothing more is begun, nor after a change, and a failing endpoint gets one request at a time. `undefined`: as `post`.
 * Settles when none is under way any more, also where it throws.
 */
export async function postTold(
  work: Work & { lane: TellLane },
  told: readonly Told[],
  {
    keyOf,
    onTaken,
  }: { keyOf(told: Told): string; onTaken(request: readonly Told[], delivery: Delivery, nowMs: number): void },
): Promise<PostedTold | undefined> {
  const { deps, webhook, taken, places } = work;
  const waiting = told[0]?.parks.device === undefined ? [...chainsOf(told, keyOf).values()] : [[told]];
  const takenTold: Told[] = [];
  const refusedTold: Told[] = [];
  let counts: Answered | undefined;
  let failures = 0;
  let failed: 'failed' | 'stopped' | undefined;
  let isChanged = false;
  // That which counts is written down with what came of all. The others before the wait, in which others are answered: each once.
  const note = async (answered: Answered) => {
    const former = counts;
    if (!wasTaken(answered.attempt)) failures++;
    counts = former && !wasTaken(former.attempt) && !asksForMore(answered, former) ? former : answered;
    const other = counts === former ? answered : former;
    if (other)
      await recordAttempt(deps.store, taken.workspace, taken.id, {
        attempt: other.attempt,
        forgotten: taken.forgotten,
      });
  };
  const mayBegin = async (hasWaited: boolean) => {
    if ((counts || hasWaited) && !isChanged && !(await isAsTaken(deps.store, taken))) isChanged = true;
    return !isChanged;
  };
  const tell = async (
    chain: readonly (readonly Told[])[],
    request: readonly Told[],
    hasWaited: boolean,
  ): Promise<boolean> => {
    if (!(await mayBegin(hasWaited)) || (failed && request === chain[0])) return false;
    const delivery = await deps.feed.pack(webhook, request);
    const isAfterFailure = work.failed.size > 0;
    const answered = await post(work, delivery);
    const isTaken = answered !== undefined && wasTaken(answered.attempt);
    // It was not the endpoint that failed.
    if (isTaken && isAfterFailure) work.failed.clear();
    if (!isTaken) failed ??= answered ? 'failed' : 'stopped';
    if (!isTaken) work.failed.add(work.lane);
    if (answered && wasRefused(answered)) refusedTold.push(...chain.slice(chain.indexOf(request)).flat());
    if (isTaken) onTaken(request, delivery, answered.nowMs);
    if (answered) await note(answered);
    return isTaken;
  };
  const tellNext = async (hasWaitedForPlace: boolean) => {
    const next = failed ? undefined : waiting.shift();
    for (const request of next ?? []) {
      const share = { holder: keeperOf(taken), bytes: requestBytes(request) };
      const telling = deps.memory.hold(share, (hasWaited) => tell(next!, request, hasWaited || hasWaitedForPlace));
      if (!(await telling)) return false;
    }
    takenTold.push(...(next ?? []).flat());
    return next !== undefined;
  };
  const thrown: unknown[] = [];
  const stop = (error: unknown) => {
    failed = 'stopped';
    thrown.push(error);
  };
  await confirmClaim(work);
  // Also what fails in a replay alone is posted one at a time.
  const others = wasOtherTaken(work) ? webhook.settings.concurrency - 1 : 0;
  const runs: Promise<void>[] = [];
  let running = 0;
  const isFree = () => work.failed.size === 0;
  const tellInPlace = () => {
    const waits = places.pending >= places.concurrency;
    return places.add(async () => isFree() && tellNext(waits));
  };
  const tellBeside = async () => {
    for (let goesOn = true; goesOn; ) goesOn = await tellInPlace();
  };
  // Again where another lane had failed, but not the endpoint.
  const fill = () => {
    for (; running < others && waiting.length > 0 && isFree(); running++)
      runs.push(
        tellBeside()
          .catch(stop)
          .finally(() => void running--),
      );
  };
  const tellInTurn = async () => {
    for (let goesOn = true; goesOn; ) {
      const next = tellNext(deps.store.asksReplicas);
      fill();
      goesOn = await next;
    }
  };
  await tellInTurn().catch(stop);
  await Promise.all(runs);
  if (thrown.length > 0) throw thrown[0];
  if (failed === 'stopped' || !counts) return undefined;
  return { ...counts, takenTold, refusedTold, beside: counts.isBeside ? failures : Math.max(failures - 1, 0) };
}

/** That it is gone, or wants more time, is true of the endpoint whichever of its answers says so. */
function asksForMore({ attempt, retryAfterMs = 0 }: Answered, former: Answered): boolean {
  if (wasTaken(attempt) || former.attempt.status === GONE) return false;
  return attempt.status === GONE || retryAfterMs > (former.retryAfterMs ?? 0);
}

function chainsOf(told: readonly Told[], keyOf: (told: Told) => string): Map<string, Told[][]> {
  const chains = new Map<string, Told[][]>();
  for (const each of told) {
    const key = keyOf(each);
    chains.set(key, [...(chains.get(key) ?? []), [each]]);
  }
  return chains;
}

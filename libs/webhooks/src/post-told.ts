import { wasTaken } from '@gateway/contracts/webhooks/webhook';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import type { Told } from './feed.js';
import { type Answered, confirmClaim, post, type Work } from './work.js';

/** The answer that counts: the first failure, or the last one; and of whom all was taken. */
export interface PostedTold extends Answered {
  takenKeys: string[];
}

/**
 * Posts changes in one request; and events, each in its own, those of one recipient in order, several recipients at a time if the endpoint
 * wants that. After a failure nothing more is begun, and a failing endpoint gets one request at a time. `undefined`: as `post`.
 */
export async function postTold(
  work: Work,
  told: readonly Told[],
  { keyOf, onTaken }: { keyOf(told: Told): string; onTaken(lateMs: number): void },
): Promise<PostedTold | undefined> {
  const { deps, webhook, taken } = work;
  const chains = told[0]?.parks.device === undefined ? chainsOf(told, keyOf) : new Map([['', [told]]]);
  const waiting = [...chains];
  const takenKeys: string[] = [];
  let last: Answered | undefined;
  let failed: Answered | 'stopped' | undefined;
  const run = async () => {
    for (let next = waiting.shift(); next && !failed; next = waiting.shift()) {
      const [key, requests] = next;
      for (const request of requests) {
        const delivery = deps.feed.pack(webhook, request);
        const answered = await post(work, delivery);
        if (!answered || !wasTaken(answered.attempt)) {
          failed ??= answered ?? 'stopped';
          return;
        }
        onTaken(answered.nowMs - delivery.atMs);
        // The last one is written down with what came of all.
        if (last) await recordAttempt(deps.store, taken.workspace, taken.id, { attempt: last.attempt });
        last = answered;
      }
      takenKeys.push(key);
    }
  };
  await confirmClaim(work);
  const places = taken.breaker.failures ? 1 : webhook.settings.concurrency;
  await Promise.all(Array.from({ length: places }, run));
  const counts = failed ?? last;
  return counts === 'stopped' || !counts ? undefined : { ...counts, takenKeys };
}

function chainsOf(told: readonly Told[], keyOf: (told: Told) => string): Map<string, Told[][]> {
  const chains = new Map<string, Told[][]>();
  for (const each of told) {
    const key = keyOf(each);
    chains.set(key, [...(chains.get(key) ?? []), [each]]);
  }
  return chains;
}

import type { Redis } from 'ioredis';
import { clockAheadMs, setClockAhead, systemClock } from '../clock.js';

const ASK_EVERY_MS = 10_000;
const FIRST_QUESTIONS = 3;
/** Slower answers are too inexact. */
const MAX_ROUND_TRIP_MS = 1_000;
/** Both clocks, and what they differ by, are taken in whole ms. */
const EXACT_TO_MS = 3;

/**
 * The processes of an installation share the time of their Redis: one whose own clock is minutes off neither lets messages
 * expire early nor keeps them too long. It is set again only where, and as far as, it is surely wrong, so that what is written later does not seem to be
 * earlier. Resolves when the time is known; returns a function that stops it.
 */
export async function followRedisTime(
  redis: Pick<Redis, 'time'>,
  { askEveryMs = ASK_EVERY_MS }: { askEveryMs?: number } = {},
): Promise<() => void> {
  let best = Number.POSITIVE_INFINITY;
  for (let asked = 0; asked < FIRST_QUESTIONS; asked++) {
    // On a Cluster it may be that of a node that is away: it is asked again soon.
    const compared = await compareClocks(redis).catch(() => undefined);
    if (!compared || compared.roundTripMs >= best) continue;
    const { aheadMs, roundTripMs } = compared;
    best = roundTripMs;
    setClockAhead(aheadMs);
  }
  const again = async () => {
    const { aheadMs, roundTripMs } = await compareClocks(redis);
    if (isStopped || roundTripMs > MAX_ROUND_TRIP_MS) return;
    // Redis looked at its clock at some moment of the round trip.
    const exactToMs = roundTripMs / 2 + EXACT_TO_MS;
    setClockAhead(Math.min(Math.max(clockAheadMs(), aheadMs - exactToMs), aheadMs + exactToMs));
  };
  let isStopped = false;
  // While Redis is unreachable the last known offset is good enough.
  const timer = setInterval(() => void again().catch(() => {}), askEveryMs).unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}

/** How far the clock of this machine is ahead of that of Redis, and how long the question took. */
async function compareClocks(redis: Pick<Redis, 'time'>): Promise<{ aheadMs: number; roundTripMs: number }> {
  const askedAtMs = systemClock.monotonicMs();
  const [seconds, microseconds] = await redis.time();
  const roundTripMs = systemClock.monotonicMs() - askedAtMs;
  const redisMs = Number(seconds) * 1000 + Number(microseconds) / 1000 + roundTripMs / 2;
  return { aheadMs: Date.now() - redisMs, roundTripMs };
}

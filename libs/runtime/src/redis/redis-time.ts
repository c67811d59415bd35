import type { Redis } from 'ioredis';
import { clockAheadMs, inTime, setClockAhead, systemClock } from '../clock.js';
import { addressOfNode, isCluster, masterNodes } from './redis-nodes.js';

const ASK_EVERY_MS = 10_000;
const FIRST_QUESTIONS = 3;
/** Slower answers are too inexact. */
const MAX_ROUND_TRIP_MS = 1_000;
/** A master of a Cluster that hangs is not waited for: the others have the time, too. */
const NODE_ANSWER_MS = 500;
/** Both clocks, and what they differ by, are taken in whole ms. */
const EXACT_TO_MS = 3;

export interface FollowOptions {
  askEveryMs?: number;
  /** Told again and again by how many ms the clock of each master of a Cluster is ahead of the time that is followed. */
  onNodes?: (aheadMs: ReadonlyMap<string, number>) => void;
}

/**
 * The processes of an installation share the time of their Redis: one whose own clock is minutes off neither lets messages
 * expire early nor keeps them too long. On a Cluster it is that of most masters, so that one whose clock is wrong moves none. It is set again
 * only where, and as far as, it is surely wrong, so that what is written later does not seem to be
 * earlier. Resolves when the time is known; returns a function that stops it.
 */
export async function followRedisTime(
  redis: Pick<Redis, 'time'>,
  { askEveryMs = ASK_EVERY_MS, onNodes = () => {} }: FollowOptions = {},
): Promise<() => void> {
  let best = Number.POSITIVE_INFINITY;
  for (let asked = 0; asked < FIRST_QUESTIONS; asked++) {
    // All may be away: they are asked again soon.
    const compared = await compareClocks(redis as Redis, onNodes).catch(() => undefined);
    if (!compared || compared.roundTripMs >= best) continue;
    const { aheadMs, roundTripMs } = compared;
    best = roundTripMs;
    setClockAhead(aheadMs);
  }
  const again = async () => {
    const { aheadMs, roundTripMs } = await compareClocks(redis as Redis, onNodes);
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

interface Comparison {
  /** How far the clock of this machine is ahead of that of a node. */
  aheadMs: number;
  /** How long the question took. */
  roundTripMs: number;
}

async function compareClocks(redis: Redis, onNodes: Required<FollowOptions>['onNodes']): Promise<Comparison> {
  if (!isCluster(redis)) return compareClock(redis);
  const compared = new Map<string, Comparison>();
  const compare = async (node: Redis) => void compared.set(addressOfNode(node), await compareClock(node));
  await inTime(Promise.allSettled(masterNodes(redis).map(compare)), NODE_ANSWER_MS);
  // Of what comes later nothing counts.
  const answers = new Map(compared);
  const middle = middleOf([...answers.values()]);
  onNodes(new Map([...answers].map(([name, { aheadMs }]) => [name, middle.aheadMs - aheadMs])));
  return middle;
}

/** Of two in the middle that which is nearer to the time that is followed. Throws when there is none. */
function middleOf(compared: readonly Comparison[]): Comparison {
  const sorted = compared.toSorted((a, b) => a.aheadMs - b.aheadMs);
  const half = (sorted.length - 1) / 2;
  const distance = ({ aheadMs }: Comparison) => Math.abs(aheadMs - clockAheadMs());
  return sorted
    .slice(Math.floor(half), Math.ceil(half) + 1)
    .reduce((nearest, each) => (distance(each) < distance(nearest) ? each : nearest));
}

async function compareClock(redis: Pick<Redis, 'time'>): Promise<Comparison> {
  const askedAtMs = systemClock.monotonicMs();
  const [seconds, microseconds] = await redis.time();
  const roundTripMs = systemClock.monotonicMs() - askedAtMs;
  const redisMs = Number(seconds) * 1000 + Number(microseconds) / 1000 + roundTripMs / 2;
  return { aheadMs: Date.now() - redisMs, roundTripMs };
}

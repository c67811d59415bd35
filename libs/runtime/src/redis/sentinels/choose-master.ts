import type { RedisNode } from '../redis-address.js';

/** What Sentinels take for the master. Each failover has a higher epoch than all before it. */
export interface NamedMaster extends RedisNode {
  epoch: number;
}

/** What one Sentinel says. */
export interface SentinelAnswer extends NamedMaster {
  /** Its own: it may be known by several addresses. */
  id: string;
  /** How many it knows, with itself: a failover takes more than half of them. */
  sentinels: number;
  /** The master that it is just about to replace. */
  replacing?: RedisNode | undefined;
  /** It does not reach the master that it names, holds it for dead, or is about to replace it. */
  isInDoubt?: boolean;
}

/** What a process knows of all that Sentinels have answered. */
export interface SeenAnswers {
  /** The highest. */
  epoch: number;
  /** How many there were when one of them last named the present master. Addresses tell nothing: some are gone, and some lead to the same one. */
  sentinels: number;
}

/**
 * The newest of the answers of Sentinels; of those that are as new, what most of them say.
 * @param options.left a master that was replaced, and the epoch that made it master. A few Sentinels that name it still do not know, nor
 * does one whose epoch is lower than what was `seen`: only a newer epoch leads back, or most of all that there are, as when they were
 * set up anew.
 */
export function chooseMaster(
  answers: readonly SentinelAnswer[],
  { left, seen }: { left: NamedMaster | undefined; seen: SeenAnswers },
): NamedMaster | undefined {
  const distinct = onePerSentinel(answers);
  const epoch = Math.max(...distinct.map((answer) => answer.epoch));
  const newest = distinct.filter((answer) => answer.epoch === epoch);
  const votesOf = (master: RedisNode) => newest.filter((answer) => isSame(answer, master)).length;
  const [chosen] = newest.toSorted((a, b) => votesOf(b) - votesOf(a));
  if (!chosen) return undefined;
  const wasLeft = left !== undefined && isSame(chosen, left) && chosen.epoch <= left.epoch;
  if (!wasLeft && chosen.epoch >= seen.epoch) return chosen;
  return votesOf(chosen) > Math.max(seen.sentinels, countSentinels(distinct)) / 2 ? chosen : undefined;
}

/**
 * Whether more than half of all that there are name this one, and none knows of a newer one: whoever is on another side of a network that
 * is split cannot elect one then.
 * @param options.isReached whether those count alone that also find it well, and will not elect another one in the next moment.
 */
export function isNamedByMost(
  answers: readonly SentinelAnswer[],
  master: RedisNode,
  { sentinels, isReached = false }: Pick<SeenAnswers, 'sentinels'> & { isReached?: boolean },
): boolean {
  const distinct = onePerSentinel(answers);
  const naming = distinct.filter((answer) => isSame(answer, master) && !(isReached && answer.isInDoubt));
  const epoch = Math.max(...naming.map((answer) => answer.epoch));
  const isNewest = distinct.every((answer) => answer.epoch <= epoch);
  return isNewest && naming.length > Math.max(sentinels, countSentinels(distinct)) / 2;
}

/** By what they say of each other. */
export function countSentinels(answers: readonly SentinelAnswer[]): number {
  return Math.max(onePerSentinel(answers).length, ...answers.map(({ sentinels }) => sentinels));
}

function onePerSentinel(answers: readonly SentinelAnswer[]): SentinelAnswer[] {
  const sorted = answers.toSorted((a, b) => a.epoch - b.epoch);
  return [...new Map(sorted.map((answer) => [answer.id, answer])).values()];
}

export function isSame(a: RedisNode, b: RedisNode): boolean {
  return a.host === b.host && a.port === b.port;
}

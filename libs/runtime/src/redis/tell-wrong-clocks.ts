import type { Logger } from '../logs/logger.js';

/** Messages of one process differ by as much in when they seem to have been made. */
const WRONG_MS = 1_000;

/**
 * Tells in the log when the clock of a master of a Cluster begins to differ from those of most, by how much when that changes by more
 * than a second, and when all agree again. Returns what is told, again and again, by how many ms each of those that answer is ahead.
 */
export function tellWrongClocks(logger: Pick<Logger, 'warn' | 'info'>): (aheadMs: ReadonlyMap<string, number>) => void {
  const told = new Map<string, number>();
  return (aheadMs) => {
    for (const [node, ms] of aheadMs) {
      const before = told.get(node);
      if (Math.abs(ms) <= WRONG_MS) {
        if (told.delete(node)) logger.info('the clock of a redis node is right again', { node });
      } else if (before === undefined || Math.abs(ms - before) > WRONG_MS) {
        told.set(node, ms);
        logger.warn('the clock of a redis node is wrong', { node, aheadSeconds: Math.round(ms / 1000) });
      }
    }
  };
}

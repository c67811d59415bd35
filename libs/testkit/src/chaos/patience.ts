import { availableParallelism, loadavg } from 'node:os';

const MOST_PATIENCE = 5;
/** For each core, with which a machine still keeps up. */
const EASY_LOAD = 2;

/**
 * By how much everything takes longer here than on a machine that has nothing else to do, 1 to 5. By timeouts for such a machine sessions would end and
 * nodes replace each other all the time, whatever is done to them.
 */
export const PATIENCE = Math.min(MOST_PATIENCE, Math.max(1, loadavg()[0]! / availableParallelism() / EASY_LOAD));

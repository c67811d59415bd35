import { PRIORITIES, type Priority } from '../jobs.js';

/**
 * The open sends of a device are ordered by priority, and then by when Redis accepted them: the score of each is
 * `priority * PRIORITY_SPAN` + the ms since 1970, to about 16 microseconds.
 */
export const PRIORITY_SPAN = 1e13;

/** The scores of the open sends with this priority: from `min`, below `max`. */
export function openScores(priority: Priority): { min: number; max: number } {
  const min = PRIORITIES[priority] * PRIORITY_SPAN;
  return { min, max: min + PRIORITY_SPAN };
}

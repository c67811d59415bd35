import { LIMITS } from '../limits.js';

const HOUR_MS = 60 * 60_000;
const RETENTION_MS = LIMITS.sendRetentionSeconds * 1000;
/** From its acceptance until nothing is left of a send. */
const LONGEST_LIFE_MS = LIMITS.sendExpirySeconds * 1000 + RETENTION_MS;

/** How long Redis keeps what tells of many sends, in ms since it was last written to. */
export const KEPT_MS = {
  /** The list of the sends of a workspace: until the last of them is gone. */
  list: LONGEST_LIFE_MS + 2 * HOUR_MS,
  /** What the sends of a token take at a device: until none of them can change it any more. */
  book: LONGEST_LIFE_MS + 48 * HOUR_MS,
  /** What became of recipients in an hour, after that hour. */
  activity: RETENTION_MS + HOUR_MS,
} as const;

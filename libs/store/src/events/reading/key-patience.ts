import { systemClock } from '@gateway/runtime/clock';
import { UnknownKeyError } from '../../core/vault.js';

/** A process that is older than a new key is replaced within it. */
const KEY_PATIENCE_MS = 3_600_000;

/**
 * Whether what happened then is told without what a key hides that is not configured here: from an hour later on, as it would hold up all
 * that comes behind it, of other devices too. @param thrown by what opens it.
 */
export function isToldWithoutKey(thrown: unknown, happenedAtMs: number): boolean {
  return thrown instanceof UnknownKeyError && systemClock.nowMs() >= happenedAtMs + KEY_PATIENCE_MS;
}

import { deviceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, number } from '../../core/scripts/define-script.js';
import { isOne } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import type { Ownership } from '../../fleet/ownership.js';

const WINDOW_MS = 10 * 60_000;
const TOO_OFTEN = 3;

const noteReplacedStep = defineScript({
  name: 'note-replaced',
  whenFull: 'runs',
  isFenced: true,
  keys: ['replaced'],
  args: { nowMs: number, limit: number, windowMs: number },
  reply: isOne,
});

/**
 * Counts how often another client has taken the place of a device that is ours: someone outside uses its keys.
 * Taking it back by reflex would be a fight without an end. Counted in Redis, for it is the same fight whichever process
 * holds the device.
 * @returns `tooOften`: the third within ten minutes. The caller parks the device; the count starts again.
 * @throws `FencedError` for a stale owner.
 */
export async function noteReplaced(store: Store, ownership: Ownership, nowMs: number): Promise<'once' | 'tooOften'> {
  const { replaced } = deviceKeys(store.space, ownership.address);
  const news = { nowMs: Math.floor(nowMs), limit: TOO_OFTEN, windowMs: WINDOW_MS };
  return (await noteReplacedStep(store, ownership, { replaced, ...news })) ? 'tooOften' : 'once';
}

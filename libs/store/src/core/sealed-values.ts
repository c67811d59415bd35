import { decodeSealed, findSealed, type SealedValue } from './find-sealed.js';
import { bytes, defineScript, text } from './scripts/define-script.js';
import { isOne } from './scripts/replies.js';
import type { Store } from './store.js';
import { type KeyRing, keyIdOf } from './vault.js';

/** Replaces a value by the same one under another key, unless it was written meanwhile. Tells whether it did. */
export const replaceSealed = defineScript({
  name: 'reseal',
  whenFull: 'runs',
  keys: ['value'],
  args: { field: text, before: bytes, after: bytes },
  reply: isOne,
});

type ResealOutcome = 'resealed' | 'gone' | 'unopened';

const MAX_ATTEMPTS = 10;

/**
 * Seals a value with the key that seals now. `gone`: it is not there, or was written with that key meanwhile; `unopened`:
 * no key here opens it. Safe to repeat, and beside other writers of the value.
 */
async function resealValue(store: Store, value: SealedValue): Promise<ResealOutcome> {
  const { key, field, purpose, place, ring, isText } = value;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = await (field === '' ? store.redis.getBuffer(key) : store.redis.hgetBuffer(key, field));
    if (!before) return 'gone';
    const sealed = decodeSealed(before, isText);
    if (keyIdOf(sealed) === store.vault.keyIds(ring)[0]) return 'gone';
    let after: Buffer;
    try {
      after = store.vault.reseal(sealed, purpose, place);
    } catch {
      return 'unopened';
    }
    const written = isText ? Buffer.from(after.toString('base64')) : after;
    if (await replaceSealed(store, { value: key, field, before, after: written })) return 'resealed';
  }
  return 'unopened';
}

const AT_ONCE = 50;
const MAX_ROUNDS = 5;

interface ResealProgress {
  /** Values that were looked at in this round. */
  seen: number;
  resealed: number;
  /** In this round. */
  unopened: number;
}

/**
 * Seals everything with the first key of its ring, round after round until one finds nothing to do: processes that still
 * seal with another key write meanwhile. Can be stopped and repeated at any time.
 */
export async function resealAll(
  store: Store,
  { onProgress }: { onProgress: (progress: ResealProgress) => void },
): Promise<ResealProgress> {
  const progress: ResealProgress = { seen: 0, resealed: 0, unopened: 0 };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = progress.resealed;
    Object.assign(progress, { seen: 0, unopened: 0 });
    for await (const values of findSealed(store)) {
      progress.seen += values.length;
      const due = values.filter(({ ring, keyId }) => keyId !== store.vault.keyIds(ring)[0]);
      for (let from = 0; from < due.length; from += AT_ONCE) {
        const outcomes = await Promise.all(due.slice(from, from + AT_ONCE).map((value) => resealValue(store, value)));
        progress.resealed += outcomes.filter((outcome) => outcome === 'resealed').length;
        progress.unopened += outcomes.filter((outcome) => outcome === 'unopened').length;
      }
      onProgress(progress);
    }
    if (progress.resealed === before) break;
  }
  return progress;
}

export interface KeyUse {
  ring: KeyRing;
  keyId: string;
  values: number;
  /** How this process uses it: the first key of a ring encrypts, the others only decrypt. */
  use: 'seals' | 'opens' | 'unknown';
}

/** How many values each key of each ring has sealed; keys that are configured and not used are among them. */
export async function countKeyUse(store: Store): Promise<KeyUse[]> {
  const uses = new Map<string, KeyUse>();
  const useOf = (ring: KeyRing, keyId: string): KeyUse => {
    const ids = store.vault.keyIds(ring);
    const use = ids[0] === keyId ? 'seals' : ids.includes(keyId) ? 'opens' : 'unknown';
    const found = uses.get(`${ring}/${keyId}`) ?? { ring, keyId, values: 0, use };
    uses.set(`${ring}/${keyId}`, found);
    return found;
  };
  for (const ring of ['credentials', 'contents'] as const)
    for (const keyId of store.vault.keyIds(ring)) useOf(ring, keyId);
  for await (const values of findSealed(store)) for (const { ring, keyId } of values) useOf(ring, keyId).values++;
  return [...uses.values()];
}

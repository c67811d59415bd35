import { createHmac } from 'node:crypto';

/**
 * Everything that looks random but must come out the same on every run hangs on one seed:
 * phone identities, pre-keys, number mappings. `derive` is a keyed hash of a label.
 */
export class Seed {
  readonly #key: Buffer;

  constructor(text: string) {
    this.#key = createHmac('sha256', 'simulated messenger network').update(text).digest();
  }

  /** 32 bytes that depend on the seed and the label only. */
  derive(label: string): Buffer {
    return createHmac('sha256', this.#key).update(label).digest();
  }

  /** A number in [0, 1) that depends on the seed and the label only. */
  fraction(label: string): number {
    return this.derive(label).readUInt32BE(0) / 2 ** 32;
  }
}

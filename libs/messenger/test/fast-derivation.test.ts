import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import type { DeriveSecrets } from '@gateway/messenger/keys/fast-derivation';
import '@gateway/messenger/keys/fast-derivation';
import { expect } from 'chai';

const require = createRequire(import.meta.resolve('@whiskeysockets/baileys'));
const CRYPTO = 'libsignal/src/crypto.js';
const { deriveSecrets } = require(CRYPTO) as { deriveSecrets: DeriveSecrets };

/** libsignal's own, from a second copy of its module. */
function loadSlow(): DeriveSecrets {
  const path = require.resolve(CRYPTO);
  const replaced = require.cache[path];
  delete require.cache[path];
  const slow = require(path) as { deriveSecrets: DeriveSecrets };
  require.cache[path] = replaced!;
  return slow.deriveSecrets;
}

describe('the fast derivation of secrets, which libsignal uses', () => {
  it('derives the same secrets as the slow one, for each purpose', () => {
    const slow = loadSlow();
    expect(slow).not.to.equal(deriveSecrets);
    for (const info of ['WhisperMessageKeys', 'WhisperRatchet', 'WhisperText'].map((each) => Buffer.from(each))) {
      for (const [input, salt] of [
        [randomBytes(32), Buffer.alloc(32)],
        [randomBytes(160), randomBytes(32)],
      ] as const) {
        for (const chunks of [undefined, 1, 2, 3]) {
          expect(deriveSecrets(input, salt, info, chunks)).to.deep.equal(slow(input, salt, info, chunks));
        }
      }
    }
  });
});

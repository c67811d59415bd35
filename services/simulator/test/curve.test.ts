import { randomBytes } from 'node:crypto';
import { agree, keyPairOf, makeKeyPair } from '@gateway/simulator/crypto/curve';
import { expect } from 'chai';

const BASE_POINT = Buffer.from([9, ...Buffer.alloc(31)]);

describe('the key pair of a known secret', () => {
  const secrets = [Buffer.alloc(32), Buffer.alloc(32, 255), ...Array.from({ length: 500 }, () => randomBytes(32))];

  it('has the public key that an agreement with the base point gives', () => {
    for (const secret of secrets) {
      const { publicKey, privateKey } = keyPairOf(secret);
      expect(publicKey.toString('hex')).to.equal(agree(BASE_POINT, privateKey).toString('hex'));
    }
  });

  it('agrees with the pairs of the Signal bridge', () => {
    const ours = keyPairOf(randomBytes(32));
    const theirs = makeKeyPair();
    expect(agree(theirs.publicKey, ours.privateKey).equals(agree(ours.publicKey, theirs.privateKey))).to.equal(true);
  });
});

import { createRequire } from 'node:module';
import { fastCurve, isGenuine, type SignalCurve } from '@gateway/messenger/keys/fast-curve';
import { Curve } from '@whiskeysockets/baileys';
import { expect } from 'chai';

const require = createRequire(import.meta.resolve('@whiskeysockets/baileys'));
const CURVE = 'libsignal/src/curve.js';

/** libsignal's own functions, from a second copy of its module: those in use are replaced. */
function loadSlowCurve(): SignalCurve {
  const path = require.resolve(CURVE);
  const inUse = require.cache[path];
  delete require.cache[path];
  const slow = require(path) as SignalCurve;
  require.cache[path] = inUse!;
  return slow;
}

describe('the fast curve', () => {
  const slow = loadSlowCurve();
  const message = Buffer.from('what is signed');

  it('is what libsignal uses', () => {
    const inUse = require(CURVE) as SignalCurve;
    expect(inUse.verifySignature).to.equal(fastCurve.verifySignature);
    expect(slow.verifySignature).not.to.equal(fastCurve.verifySignature);
  });

  it('agrees on the same secret as the slow one', () => {
    const [ours, theirs] = [fastCurve.generateKeyPair(), slow.generateKeyPair()];
    const secret = slow.calculateAgreement(theirs.pubKey, ours.privKey);
    expect(fastCurve.calculateAgreement(theirs.pubKey, ours.privKey)).to.deep.equal(secret);
    expect(fastCurve.calculateAgreement(ours.pubKey, theirs.privKey)).to.deep.equal(secret);
  });

  it('agrees on the same secret many times, with keys of both spellings, and in turn', () => {
    const pairs = Array.from({ length: 20 }, () => fastCurve.generateKeyPair());
    for (const ours of pairs) {
      for (const theirs of pairs.slice(0, 3)) {
        const secret = slow.calculateAgreement(theirs.pubKey, ours.privKey);
        expect(fastCurve.calculateAgreement(theirs.pubKey, ours.privKey)).to.deep.equal(secret);
        expect(fastCurve.calculateAgreement(theirs.pubKey.subarray(1), Uint8Array.from(ours.privKey))).to.deep.equal(
          secret,
        );
      }
    }
  });

  it('agrees on nothing with what is no key, nor with a point whose secret anyone knows', () => {
    const { pubKey, privKey } = fastCurve.generateKeyPair();
    const otherType = Buffer.concat([Buffer.from([6]), pubKey.subarray(1)]);
    const [nought, one] = [Buffer.alloc(32), Buffer.from([1, ...Buffer.alloc(31)])];
    for (const bad of [otherType, pubKey.subarray(2), Buffer.concat([pubKey, pubKey]), Buffer.alloc(0), nought, one]) {
      expect(() => fastCurve.calculateAgreement(bad, privKey)).to.throw();
    }
    for (const bad of [privKey.subarray(1), Buffer.concat([privKey, privKey]), Buffer.alloc(0)]) {
      expect(() => fastCurve.calculateAgreement(pubKey, bad)).to.throw();
    }
  });

  it('verifies what the slow one signed, and the other way round', () => {
    const pair = slow.generateKeyPair();
    expect(fastCurve.verifySignature(pair.pubKey, message, slow.calculateSignature(pair.privKey, message))).to.equal(
      true,
    );
    expect(slow.verifySignature(pair.pubKey, message, fastCurve.calculateSignature(pair.privKey, message))).to.equal(
      true,
    );
  });

  it('throws on a false signature, where the slow one only says so', () => {
    const pair = fastCurve.generateKeyPair();
    const signature = fastCurve.calculateSignature(pair.privKey, message);
    for (const tampered of [flip(signature, 0), flip(signature, 63), signature.subarray(1), Buffer.alloc(64)]) {
      expect(() => fastCurve.verifySignature(pair.pubKey, message, tampered)).to.throw('the signature is false');
      expect(isGenuine(pair.pubKey, message, tampered)).to.equal(false);
    }
    expect(slow.verifySignature(pair.pubKey, message, flip(signature, 0))).to.equal(false);
  });

  it('verifies signed pre-keys too, which libsignal skips', () => {
    const pair = fastCurve.generateKeyPair();
    const tampered = flip(fastCurve.calculateSignature(pair.privKey, message), 5);
    expect(slow.verifySignature(pair.pubKey, message, tampered, true)).to.equal(true);
    expect(() => fastCurve.verifySignature(pair.pubKey, message, tampered, true)).to.throw();
  });

  it("makes Baileys' own Curve.verify say no", () => {
    const pair = Curve.generateKeyPair();
    const signature = Curve.sign(pair.private, message);
    expect(Curve.verify(pair.public, message, signature)).to.equal(true);
    expect(Curve.verify(pair.public, message, flip(signature, 7))).to.equal(false);
    expect(Curve.verify(pair.public, Buffer.from('something else'), signature)).to.equal(false);
    expect(Curve.verify(Buffer.alloc(3), message, signature)).to.equal(false);
  });
});

function flip(bytes: Uint8Array, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at]! ^= 1;
  return changed;
}

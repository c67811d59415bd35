import { assertGenuineChain } from '@gateway/messenger/socket/genuine-chain';
import { assertSafeEndpoint } from '@gateway/messenger/socket/trust';
import { Curve, proto } from '@whiskeysockets/baileys';
import { expect } from 'chai';

const NOW_MS = Date.UTC(2030, 0, 1);
const DAY_SECONDS = 24 * 3600;

interface Chain {
  root?: Uint8Array;
  leafKey?: Uint8Array;
  notBefore?: number;
  notAfter?: number;
}

describe('trust in a server', () => {
  const root = Curve.generateKeyPair();
  const middle = Curve.generateKeyPair();
  const server = Curve.generateKeyPair();
  const now = NOW_MS / 1000;

  function makeChain({ root: issuer = root.private, leafKey = server.public, ...dates }: Chain = {}): proto.CertChain {
    const certify = (by: Uint8Array, key: Uint8Array) => {
      const validity = { notBefore: now - DAY_SECONDS, notAfter: now + DAY_SECONDS, ...dates };
      const details = proto.CertChain.NoiseCertificate.Details.encode({ issuerSerial: 0, key, ...validity }).finish();
      return { details, signature: Curve.sign(by, details) };
    };
    return proto.CertChain.create({
      intermediate: certify(issuer, middle.public),
      leaf: certify(middle.private, leafKey),
    });
  }
  const check = (chain: proto.CertChain) => assertGenuineChain(chain, root.public, server.public, NOW_MS);

  it('takes a chain that leads from the root to the key the server used', () => {
    expect(() => check(makeChain())).not.to.throw();
  });

  it('takes certificates without dates', () => {
    expect(() => check(makeChain({ notBefore: 0, notAfter: 0 }))).not.to.throw();
  });

  it('refuses another root', () => {
    expect(() => check(makeChain({ root: Curve.generateKeyPair().private }))).to.throw(
      'false signature of the intermediate',
    );
  });

  it('refuses a leaf about another key: a chain that was copied from the real server', () => {
    expect(() => check(makeChain({ leafKey: Curve.generateKeyPair().public }))).to.throw('another key');
  });

  it('refuses what is out of date or not valid yet', () => {
    expect(() => check(makeChain({ notAfter: now - 1 }))).to.throw('out of date');
    expect(() => check(makeChain({ notBefore: now + 60 }))).to.throw('out of date');
  });

  it('refuses a tampered leaf, a missing one, and one without a key', () => {
    const tampered = makeChain();
    tampered.leaf!.signature![9]! ^= 1;
    expect(() => check(tampered)).to.throw('false signature of the leaf');
    expect(() => check(proto.CertChain.create({ intermediate: makeChain().intermediate! }))).to.throw('no leaf');
    expect(() => check(makeChain({ leafKey: new Uint8Array() }))).to.throw();
  });

  it('refuses the real network without its own certificates', () => {
    const url = 'wss://web.whatsapp.com/ws/chat';
    expect(() => assertSafeEndpoint({ url, trust: { kind: 'production' } })).not.to.throw();
    for (const trust of [{ kind: 'insecure' }, { kind: 'root', publicKey: Buffer.alloc(32) }] as const) {
      expect(() => assertSafeEndpoint({ url, trust })).to.throw('production');
      expect(() => assertSafeEndpoint({ url: 'ws://127.0.0.1:1/ws/chat', trust })).not.to.throw();
    }
  });
});

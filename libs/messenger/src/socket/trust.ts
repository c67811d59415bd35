import { isRealNetwork, type MessengerTrust } from '@gateway/runtime/config/messenger-trust';
import { GatewayError } from '@gateway/runtime/errors';
import { isGenuine } from '../keys/fast-curve.js';
import { UntrustedServerError } from '../session/session-errors.js';
import { Curve, proto, WA_CERT_DETAILS } from './baileys.js';

/** Where the network is, and whom to believe to be it. */
export interface Endpoint {
  /** `ws://` or `wss://`. */
  url: string;
  trust: MessengerTrust;
}

/** Refuses an endpoint that would talk to the real network without its own certificates. */
export function assertSafeEndpoint({ url, trust }: Endpoint): void {
  if (trust.kind !== 'production' && isRealNetwork(url)) {
    throw new GatewayError({ code: 'unsafe_endpoint', message: 'the real network needs MESSENGER_TRUST=production' });
  }
}

/**
 * Runs `makeSocket`, and holds the server of the socket that it makes to `trust`.
 *
 * The library knows one trusted root, process-wide, never compares the leaf certificate with the key that the server
 * used, and looks at no dates. Its handshake is one synchronous function that offers no hook, but it calls these in
 * this order: `Curve.sharedKey(ephemeral, server's static key)`, `proto.CertChain.decode`, `WA_CERT_DETAILS.PUBLIC_KEY`.
 * All three are members of exported objects, and the ephemeral key is made inside `makeSocket`: it names the socket.
 */
export function withTrust<Socket>(trust: MessengerTrust, makeSocket: () => Socket): Socket {
  trustOfNewKeys = trust;
  try {
    return makeSocket();
  } finally {
    trustOfNewKeys = undefined;
  }
}

interface Handshake {
  trust: MessengerTrust;
  serverKey: Uint8Array;
}

let trustOfNewKeys: MessengerTrust | undefined;
let handshake: Handshake | undefined;
const trustByPrivateKey = new WeakMap<Uint8Array, MessengerTrust>();
const productionRoot = WA_CERT_DETAILS.PUBLIC_KEY;

const { generateKeyPair, sharedKey } = Curve;
const decodeChain = proto.CertChain.decode;

Curve.generateKeyPair = () => {
  const pair = generateKeyPair();
  if (trustOfNewKeys) trustByPrivateKey.set(pair.private, trustOfNewKeys);
  return pair;
};

Curve.sharedKey = (privateKey, publicKey) => {
  const trust = trustByPrivateKey.get(privateKey);
  handshake = trust && { trust, serverKey: publicKey };
  return sharedKey(privateKey, publicKey);
};

proto.CertChain.decode = (bytes, length) => {
  if (handshake?.trust.kind === 'insecure') return standInChain().chain;
  const chain = decodeChain(bytes, length);
  if (handshake) assertGenuineChain(chain, rootOf(handshake.trust), handshake.serverKey, Date.now());
  return chain;
};

// The library checks both signatures once more, against the root of the handshake that is running. Sockets that others
// made in this process (stock clients in tests) go by what others wrote here.
let rootOfOthers = productionRoot;
Object.defineProperty(WA_CERT_DETAILS, 'PUBLIC_KEY', {
  get: () => (handshake ? rootOf(handshake.trust) : rootOfOthers),
  set: (root: typeof productionRoot) => {
    rootOfOthers = root;
  },
});

function rootOf(trust: MessengerTrust): Buffer {
  if (trust.kind === 'root') return trust.publicKey;
  return trust.kind === 'insecure' ? standInChain().root : productionRoot;
}

/**
 * Throws unless root -> intermediate -> leaf are signed by each other, in date, and the leaf is about `serverKey`.
 * @param root Curve25519 public key, 32 bytes.
 */
export function assertGenuineChain(
  { leaf, intermediate }: proto.CertChain,
  root: Uint8Array,
  serverKey: Uint8Array,
  nowMs: number,
): void {
  const issuer = readCertificate(intermediate, 'intermediate', root, nowMs);
  const { key } = readCertificate(leaf, 'leaf', issuer.key, nowMs);
  if (!Buffer.from(key).equals(serverKey)) throw new UntrustedServerError('the leaf is about another key');
}

function readCertificate(
  certificate: proto.CertChain.INoiseCertificate | null | undefined,
  name: string,
  issuerKey: Uint8Array,
  nowMs: number,
) {
  const { details, signature } = certificate ?? {};
  if (!details || !signature) throw new UntrustedServerError(`no ${name} certificate`);
  if (!isGenuine(issuerKey, details, signature)) throw new UntrustedServerError(`false signature of the ${name}`);
  const { key, notBefore, notAfter } = proto.CertChain.NoiseCertificate.Details.decode(details);
  if (!key) throw new UntrustedServerError(`no key in the ${name}`);
  const now = nowMs / 1000;
  if (now < seconds(notBefore) || now > seconds(notAfter, Number.POSITIVE_INFINITY)) {
    throw new UntrustedServerError(`the ${name} is out of date`);
  }
  return { key };
}

/** Certificates without dates are valid always: stand-ins tend to leave them out. */
function seconds(date: unknown, absent = 0): number {
  const value = Number(date ?? 0);
  return value > 0 ? value : absent;
}

let madeStandIn: { chain: proto.CertChain; root: Buffer } | undefined;

/** `insecure` shows the library a chain of our own, so that its checks pass and those of real signatures stay strict. */
function standInChain(): { chain: proto.CertChain; root: Buffer } {
  if (madeStandIn) return madeStandIn;
  const root = generateKeyPair();
  const middle = generateKeyPair();
  const certify = (issuer: Uint8Array, key: Uint8Array) => {
    const details = proto.CertChain.NoiseCertificate.Details.encode({ serial: 0, issuerSerial: 0, key }).finish();
    return { details, signature: Curve.sign(issuer, details) };
  };
  const chain = proto.CertChain.create({
    intermediate: certify(root.private, middle.public),
    leaf: certify(middle.private, middle.public),
  });
  madeStandIn = { chain, root: Buffer.from(root.public) };
  return madeStandIn;
}

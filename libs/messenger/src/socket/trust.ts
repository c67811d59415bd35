import { isRealNetwork, type MessengerTrust } from '@gateway/runtime/config/messenger-trust';
import { GatewayError } from '@gateway/runtime/errors';
import { Curve, proto, WA_CERT_DETAILS } from './baileys.js';
import { assertGenuineChain } from './genuine-chain.js';

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

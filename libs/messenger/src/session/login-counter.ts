import { type AuthenticationCreds, Curve, proto } from '../socket/baileys.js';

/** Credentials as stored: the library keeps fields that it does not know. */
type StoredCreds = AuthenticationCreds & { loginCounter?: number };

const MOST = 2 ** 31 - 1;

/** The credentials of the sockets of this process, by the key that each sends last before it identifies itself. */
const credsByKey = new WeakMap<Uint8Array, StoredCreds>();
let lastKey: WeakRef<Uint8Array> | undefined;

const { sharedKey } = Curve;
const { encode } = proto.ClientPayload;

Curve.sharedKey = (privateKey, publicKey) => {
  lastKey = new WeakRef(privateKey);
  return sharedKey(privateKey, publicKey);
};

/**
 * The library builds the login right after the handshake, in the same synchronous step, and offers no hook for it. A
 * device that is being linked has no counter.
 */
proto.ClientPayload.encode = (payload, writer) => {
  const key = lastKey?.deref();
  const creds = key && credsByKey.get(key);
  if (creds && !payload.devicePairingData) payload.lc = creds.loginCounter ?? 0;
  return encode(payload, writer);
};

/**
 * Web clients send their number of logins at each login. One that never sends it, or always 0, looks like a copy of
 * its keys, and the network has given such logins a connection without messages.
 */
export function showLogins(creds: AuthenticationCreds): void {
  credsByKey.set(creds.noiseKey.private, creds);
}

/** Call it after a successful login, and save the credentials then. */
export function countLogin(creds: StoredCreds): void {
  creds.loginCounter = Math.min((creds.loginCounter ?? 0) + 1, MOST);
}

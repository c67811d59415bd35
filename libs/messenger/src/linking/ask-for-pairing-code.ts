import { randomBytes } from 'node:crypto';
import { TimeoutError } from '../session/session-errors.js';
import {
  type AuthenticationCreds,
  aesEncryptCTR,
  type BaileysSocket,
  type BinaryNode,
  bytesToCrockford,
  Curve,
  derivePairingCodeKey,
  getBinaryNodeChild,
  getBinaryNodeChildBuffer,
  getCompanionPlatformId,
  jidEncode,
  S_WHATSAPP_NET,
} from '../socket/baileys.js';
import type { BrowserName } from '../socket/socket-settings.js';

/** Callers wait for a code no longer than twice this. */
const ANSWER_MS = 8_000;
/** Makes eight characters. */
const CODE_BYTES = 5;

interface Asking {
  creds: AuthenticationCreds;
  browser: BrowserName;
  /** Digits. */
  phone: string;
}

/**
 * Asks the network for a link by a code to be typed on the phone, and waits for its verdict. The library's own function
 * returns before that, and nothing would tell a code that links from one that the network has refused. Rejects with the
 * network's error as its `data`, or with `TimeoutError`.
 */
export async function askForPairingCode(
  sock: BaileysSocket,
  { creds, browser, phone }: Asking,
): Promise<{ value: string; ref: Buffer }> {
  const value = bytesToCrockford(randomBytes(CODE_BYTES));
  const jid = jidEncode(phone, 's.whatsapp.net');
  // Each code has keys of its own: the answer to an older one must not fit.
  const keyPair = Curve.generateKeyPair();
  const wrapped = await wrapKey(value, keyPair.public);
  const answer: BinaryNode | undefined = await sock.query(helloNode({ jid, wrapped, creds, browser }), ANSWER_MS);
  if (!answer) throw new TimeoutError('pairing code', ANSWER_MS);
  const ref = getBinaryNodeChildBuffer(getBinaryNodeChild(answer, 'link_code_companion_reg'), 'link_code_pairing_ref');
  if (!ref) throw new TypeError('the network named no request');
  // What the library needs to answer the phone once the code is typed.
  Object.assign(creds, { pairingCode: value, pairingEphemeralKeyPair: keyPair, me: { id: jid, name: '~' } });
  return { value, ref: Buffer.from(ref) };
}

function helloNode({
  jid,
  wrapped,
  creds,
  browser,
}: Omit<Asking, 'phone'> & { jid: string; wrapped: Buffer }): BinaryNode {
  const content: [tag: string, content: string | Uint8Array][] = [
    ['link_code_pairing_wrapped_companion_ephemeral_pub', wrapped],
    ['companion_server_auth_key_pub', creds.noiseKey.public],
    ['companion_platform_id', getCompanionPlatformId(browser)],
    ['companion_platform_display', `${browser[1]} (${browser[0]})`],
    ['link_code_pairing_nonce', '0'],
  ];
  const hello: BinaryNode = {
    tag: 'link_code_companion_reg',
    attrs: { jid, stage: 'companion_hello', should_show_push_notification: 'true' },
    content: content.map(([tag, value]) => ({ tag, attrs: {}, content: value })),
  };
  return { tag: 'iq', attrs: { to: S_WHATSAPP_NET, type: 'set', xmlns: 'md' }, content: [hello] };
}

/** salt 32, iv 16, and the key under the code. */
async function wrapKey(code: string, key: Uint8Array): Promise<Buffer> {
  const [salt, iv] = [randomBytes(32), randomBytes(16)];
  return Buffer.concat([salt, iv, aesEncryptCTR(key, await derivePairingCodeKey(code, salt), iv)]);
}

import { createHash, randomBytes } from 'node:crypto';
import { type BinaryNode, node } from '../wire/nodes.js';

const TIMEOUT_MS = 600_000;

/** What a browser at the messenger's own site would need to prove that its owner is there. No client of a test can. */
export function passkeyOptionsNode(number: string): BinaryNode {
  const credential = createHash('sha256').update(`passkey/${number}`).digest('base64url');
  const options = {
    challenge: randomBytes(32).toString('base64url'),
    timeout: TIMEOUT_MS,
    rpId: 'whatsapp.com',
    allowCredentials: [{ id: credential, type: 'public-key', transports: ['internal', 'hybrid'] }],
    userVerification: 'required',
  };
  return node('passkey_request_options', {}, Buffer.from(JSON.stringify(options)));
}

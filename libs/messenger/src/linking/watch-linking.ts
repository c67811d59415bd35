import { type BinaryNode, S_WHATSAPP_NET } from '../socket/baileys.js';
import type { CodeDisplay, Linking, LinkingDeps } from './code-display.js';
import { PairingCode } from './pairing-code.js';
import { QrCodes } from './qr-codes.js';

/** As a jid without a user, and as a word of the dictionary. */
const SERVER: ReadonlySet<string> = new Set([S_WHATSAPP_NET, S_WHATSAPP_NET.slice(1)]);

type Listener = (node: BinaryNode) => unknown;

/**
 * Follows a linking attempt up to the phone's answer:
 *
 *   codes shown -> scanned -> the network retires the secret (since 2026) -> the same code with a new secret, scanned
 *   -> accepted; or the account asks for a passkey, which only a browser on the network's own site can show: over.
 *
 * The library knows of none of the notifications in between; those of a typed code it takes without a look at whose
 * they are, and fails on some. So what the network says about the link is read here first.
 */
export function watchLinking(deps: LinkingDeps): Linking {
  const { sock, auth, link } = deps;
  const codes: CodeDisplay = link.method === 'qr' ? new QrCodes(deps) : new PairingCode(deps, link.phone);
  const library = sock.ws.listeners('CB:notification') as Listener[];
  sock.ws.removeAllListeners('CB:notification');
  sock.ws.on('CB:notification', async (node: BinaryNode) => {
    const type = SERVER.has(node.attrs.from ?? '') && !auth.creds.account ? node.attrs.type : undefined;
    if (type === 'link_code_companion_reg' && codes.takeStep(node) === 'ours') return sock.sendMessageAck(node);
    // The library confirms unknown stanzas, too.
    await Promise.all(library.map((listener) => listener(node)));
    if (type === 'companion_reg_refresh' && asksForNewSecret(node)) codes.retireSecret();
    if (type === 'passkey_prologue_request') deps.onEnded({ kind: 'passkeyRequired' });
  });
  return codes;
}

const NEW_SECRET: ReadonlySet<string> = new Set(['companion_reg_refresh', 'pair-device-rotate-qr']);

function asksForNewSecret({ content }: BinaryNode): boolean {
  return Array.isArray(content) && content.some(({ tag }) => NEW_SECRET.has(tag));
}

import type { DisconnectOutcome } from '../codes/disconnect-outcomes.js';
import type { AuthState } from '../keys/auth-state.js';
import type { SessionEvents } from '../session/session-types.js';
import { type BaileysSocket, type BinaryNode, S_WHATSAPP_NET } from '../socket/baileys.js';
import type { BrowserName } from '../socket/socket-settings.js';
import { PairingCode } from './pairing-code.js';
import { QrCodes } from './qr-codes.js';

export type LinkMethod = { method: 'qr' } | { method: 'pairing' /** Digits. */; phone: string };

export interface LinkingDeps {
  sock: BaileysSocket;
  auth: Pick<AuthState, 'creds'>;
  browser: BrowserName;
  link: LinkMethod;
  onCode: SessionEvents['onCode'];
  /** The attempt is over without an account. */
  onEnded(outcome: DisconnectOutcome): void;
  /** Aborted when the session ends. */
  signal: AbortSignal;
}

export interface Linking {
  /** Codes still to be shown; many until the network has sent them, and as long as a typed code is good. */
  codesLeft(): number;
}

/** What shows the codes of an attempt, and what the network may ask of it. */
export interface CodeDisplay extends Linking {
  /** The network has retired the secret that the code on the screen advertises. */
  retireSecret(): void;
  /** A step of linking by a typed code. `ours`: the library must not see it. */
  takeStep(node: BinaryNode): 'ours' | 'library';
}

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
    // The library confirms what it does not know, too.
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

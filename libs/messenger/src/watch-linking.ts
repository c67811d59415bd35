import { toError } from '@gateway/runtime/errors';
import { type BaileysSocket, type BinaryNode, getBinaryNodeChild, getBinaryNodeChildren } from './baileys.js';
import type { SessionEvents } from './session-types.js';

export type LinkMethod = { method: 'qr' } | { method: 'pairing' /** Digits. */; phone: string };

export interface LinkingDeps {
  sock: BaileysSocket;
  link: LinkMethod;
  onCode: SessionEvents['onCode'];
  /** The network will not link this phone number; its code, where it gave one. */
  onRefused(code: number | undefined, error?: Error): void;
}

export interface Linking {
  /** Codes still to be shown; many until the network has sent them. */
  codesLeft(): number;
}

/** The library shows the first code for a minute and each of the others for 20 s. */
const FIRST_CODE_MS = 60_000;
const NEXT_CODE_MS = 20_000;

/**
 * Follows a linking attempt up to the phone's answer. The network hands out a set of codes for one connection; when
 * the last one has run out, so has the attempt. A pairing code is asked for when the first QR code comes, not before:
 * that is when the network is ready for it. It is good for as long as the connection, so for all those QR codes.
 */
export function watchLinking({ sock, link, onCode, onRefused }: LinkingDeps): Linking {
  let codesLeft = Number.POSITIVE_INFINITY;
  let first = true;

  sock.ws.on('CB:iq,type:set,pair-device', (node: BinaryNode) => {
    codesLeft = getBinaryNodeChildren(getBinaryNodeChild(node, 'pair-device'), 'ref').length;
  });
  sock.ev.on('connection.update', ({ qr }) => {
    if (qr === undefined) return;
    codesLeft -= 1;
    const lastsMs = first ? FIRST_CODE_MS : NEXT_CODE_MS;
    if (link.method === 'qr') onCode({ kind: 'qr', value: qr, expiresAtMs: Date.now() + lastsMs });
    else if (first) void requestCode(link.phone, Date.now() + lastsMs + codesLeft * NEXT_CODE_MS);
    first = false;
  });

  async function requestCode(phone: string, expiresAtMs: number): Promise<void> {
    // The library does not wait for the answer to its request. A refusal comes as the only kind of error there can be now.
    sock.ws.on('CB:iq,type:error', (node: BinaryNode) => onRefused(errorCodeOf(node)));
    try {
      onCode({ kind: 'pairing', value: await sock.requestPairingCode(phone), expiresAtMs });
    } catch (thrown) {
      onRefused(undefined, toError(thrown));
    }
  }

  return { codesLeft: () => codesLeft };
}

function errorCodeOf(node: BinaryNode): number | undefined {
  const code = Number(getBinaryNodeChild(node, 'error')?.attrs.code);
  return Number.isInteger(code) ? code : undefined;
}

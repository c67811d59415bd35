import { randomBytes } from 'node:crypto';
import { systemClock } from '@gateway/runtime/clock';
import { type BinaryNode, buildPairingQRData, getBinaryNodeChild, getBinaryNodeChildren } from '../socket/baileys.js';
import type { CodeDisplay, LinkingDeps } from './code-display.js';

/** The library shows the first code for a minute and each of the others for 20 s. */
export const FIRST_CODE_MS = 60_000;
export const NEXT_CODE_MS = 20_000;
const SECRET_BYTES = 32;

/**
 * The QR codes of an attempt. The network hands out a set of references for one connection; when the last one has run
 * out, so has the attempt. The library decides when the next one is due, the text is made here: the library's has the
 * secret that the attempt began with, and the network retires that when the first code is scanned.
 */
export class QrCodes implements CodeDisplay {
  private refs: string[] = [];
  private shown = 0;
  private left = Number.POSITIVE_INFINITY;
  private expiresAtMs = 0;
  private scanAgain = false;

  constructor(private readonly deps: Omit<LinkingDeps, 'link' | 'onEnded'>) {
    deps.sock.ws.on('CB:iq,type:set,pair-device', (node: BinaryNode) => {
      this.refs = getBinaryNodeChildren(getBinaryNodeChild(node, 'pair-device'), 'ref').map(textOf);
      this.left = this.refs.length;
    });
    deps.sock.ev.on('connection.update', ({ qr }) => {
      if (qr !== undefined) this.showNext();
    });
  }

  codesLeft(): number {
    return this.left;
  }

  takeStep(): 'library' {
    return 'library';
  }

  retireSecret(): void {
    this.deps.auth.creds.advSecretKey = randomBytes(SECRET_BYTES).toString('base64');
    if (this.shown === 0) return;
    this.scanAgain = true;
    this.show();
  }

  private showNext(): void {
    this.expiresAtMs = systemClock.nowMs() + (this.shown === 0 ? FIRST_CODE_MS : NEXT_CODE_MS);
    this.shown += 1;
    this.left -= 1;
    this.show();
  }

  private show(): void {
    const { auth, browser, onCode } = this.deps;
    const { noiseKey, signedIdentityKey, advSecretKey } = auth.creds;
    const [noise, identity] = [noiseKey, signedIdentityKey].map((key) => Buffer.from(key.public).toString('base64'));
    const ref = this.refs[this.shown - 1] ?? '';
    const value = buildPairingQRData(ref, noise!, identity!, advSecretKey, browser);
    const { expiresAtMs, scanAgain } = this;
    onCode({ kind: 'qr', value, expiresAtMs, ...(scanAgain && { scanAgain }) });
  }
}

function textOf({ content }: BinaryNode): string {
  return content instanceof Uint8Array ? Buffer.from(content).toString() : String(content ?? '');
}

import { systemClock } from '@gateway/runtime/clock';
import { refusalOfCode } from '../codes/disconnect-outcomes.js';
import {
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildBuffer,
  getBinaryNodeChildren,
} from '../socket/baileys.js';
import { askForPairingCode } from './ask-for-pairing-code.js';
import type { CodeDisplay, LinkingDeps } from './code-display.js';
import { FIRST_CODE_MS, NEXT_CODE_MS } from './qr-codes.js';

/** A code can be typed for this long, and this often. */
const CODE_MS = 180_000;
const MAX_TRIES = 3;
/** After a code was typed, the phone accepts within this time or not at all. */
const FINISH_MS = 60_000;
/** Of new codes that the network may ask for in one attempt. */
const MAX_REFRESHES = 5;
/** The network hangs up when the QR codes, which are not shown then, have run out, give or take this. */
const HANG_UP_MS = 5_000;

interface TypedCode {
  /** The network's name of the request for this code. */
  ref: Buffer;
  expiresAtMs: number;
  tries: number;
  typedAtMs: number;
}

/**
 * The code of eight characters that a person types on the phone: none -> asked for -> shown -> typed (up to three
 * times) -> accepted. It is asked for when the first QR code comes, not before: that is when the network is ready for
 * it. It is shown when the network has accepted the request, and replaced only when the network says so: QR codes come
 * and go meanwhile, but a person who types is slow.
 */
export class PairingCode implements CodeDisplay {
  private code: TypedCode | undefined;
  private asked = 0;
  private hangsUpAtMs = Number.POSITIVE_INFINITY;
  private refs = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly deps: Omit<LinkingDeps, 'link'>,
    private readonly phone: string,
  ) {
    const { sock, signal } = deps;
    sock.ws.on('CB:iq,type:set,pair-device', (node: BinaryNode) => {
      this.refs = getBinaryNodeChildren(getBinaryNodeChild(node, 'pair-device'), 'ref').length;
    });
    sock.ev.on('connection.update', ({ qr }) => {
      if (qr === undefined || this.asked > 0) return;
      this.hangsUpAtMs = systemClock.nowMs() + FIRST_CODE_MS + (this.refs - 1) * NEXT_CODE_MS - HANG_UP_MS;
      void this.ask();
    });
    signal.addEventListener('abort', () => clearTimeout(this.timer));
  }

  codesLeft(): number {
    return systemClock.nowMs() < this.hangsUpAtMs ? Number.POSITIVE_INFINITY : 0;
  }

  /**
   * Nothing shows the secret here, and a code that is typed makes one of its own. From then on that is what the link
   * depends on: nothing replaces it.
   */
  retireSecret(): void {}

  takeStep(node: BinaryNode): 'ours' | 'library' {
    const step = getBinaryNodeChild(node, 'link_code_companion_reg');
    const isCurrent =
      this.code !== undefined && sameBytes(getBinaryNodeChildBuffer(step, 'link_code_pairing_ref'), this.code.ref);
    if (step?.attrs.stage === 'refresh_code' && isCurrent) this.refresh();
    return step?.attrs.stage === 'primary_hello' && isCurrent && this.countTry() ? 'library' : 'ours';
  }

  private refresh(): void {
    if (this.asked > MAX_REFRESHES) this.deps.onEnded({ kind: 'linkExpired' });
    else void this.ask();
  }

  private async ask(): Promise<void> {
    const { sock, auth, browser, onCode, onEnded, signal } = this.deps;
    this.asked += 1;
    this.code = undefined;
    clearTimeout(this.timer);
    try {
      const { value, ref } = await askForPairingCode(sock, { creds: auth.creds, browser, phone: this.phone });
      if (signal.aborted) return;
      const expiresAtMs = systemClock.nowMs() + CODE_MS;
      this.code = { ref, expiresAtMs, tries: 0, typedAtMs: 0 };
      this.endAt(expiresAtMs);
      onCode({ kind: 'pairing', value, expiresAtMs });
    } catch (thrown) {
      const refusal = refusalOfCode(thrown);
      if (refusal) onEnded(refusal);
    }
  }

  /** Whether this attempt still counts; after the last one the phone accepts, or nothing follows. */
  private countTry(): boolean {
    const nowMs = systemClock.nowMs();
    const { code } = this;
    if (!code || nowMs > code.expiresAtMs || code.tries >= MAX_TRIES) return false;
    code.tries += 1;
    code.typedAtMs = nowMs;
    if (code.tries === MAX_TRIES) this.endAt(nowMs + FINISH_MS);
    return true;
  }

  private endAt(atMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.expire(), atMs - systemClock.nowMs());
  }

  private expire(): void {
    const finishedAtMs = (this.code?.typedAtMs ?? 0) + FINISH_MS;
    if (this.deps.auth.creds.account) return;
    if (systemClock.nowMs() < finishedAtMs) this.endAt(finishedAtMs);
    else this.deps.onEnded({ kind: 'linkExpired' });
  }
}

function sameBytes(given: Uint8Array | string | undefined, expected: Buffer): boolean {
  return given !== undefined && Buffer.compare(Buffer.from(given), expected) === 0;
}

import { randomBytes } from 'node:crypto';
import type { LinkedDevice } from '../accounts/linked-device.js';
import type { Addressing } from '../directory/jids.js';
import type { Network } from '../network/network.js';
import type { Session } from '../sessions/session.js';
import { type BinaryNode, childBytes, childNamed, childrenOf, node } from '../wire/nodes.js';
import { CodeDesk } from './code-desk.js';
import { DeviceLinker } from './device-linker.js';
import type { CodeRequest, PairingAttempt, PairingResult } from './pairing-attempt.js';
import { PairingError } from './pairing-attempt.js';
import { pairDeviceNode, refreshRegistrationNode } from './pairing-nodes.js';
import { passkeyOptionsNode } from './passkey-node.js';
import { type QrText, readQr } from './read-qr.js';
import type { Registration } from './registration.js';

/** How much longer than its time on the screen a QR code can be scanned. */
const QR_GRACE_MS = 5_000;

/** Whose phone scans a code, and in which namespace its account's conversations are. */
export interface ScanOptions {
  readonly number?: string | undefined;
  readonly addressing?: Addressing | undefined;
}

/**
 * Links clients to accounts, both ways. The client shows a code; a phone scans it, or its owner types it; the phone
 * vouches for the client's identity; the client signs back; the server keeps the device and asks for a restart (515).
 * Nothing is kept before the client's signature has verified. Since 2026 the first scan of an attempt only makes the
 * client choose another secret: the code that it shows then is the one that links.
 */
export class PairingDesk {
  readonly #network: Network;
  readonly #linker: DeviceLinker;
  readonly #codes: CodeDesk;
  readonly #attempts = new Set<PairingAttempt>();

  constructor(network: Network, onLinked: (device: LinkedDevice) => void) {
    this.#network = network;
    this.#linker = new DeviceLinker(network, onLinked);
    this.#codes = new CodeDesk(network, this.#linker);
  }

  /** A client registers: it gets its codes, and the time in which one must be used. */
  start(session: Session, registration: Registration): void {
    const { qrCodes, firstQrMs, nextQrMs } = this.#network.settings;
    const refs = Array.from({ length: qrCodes }, () => `2@${randomBytes(48).toString('base64url')}`);
    const end = () => this.#expire(attempt);
    const expiry = setTimeout(end, firstQrMs + (qrCodes - 1) * nextQrMs).unref();
    const attempt: PairingAttempt = { session, registration, refs, expiry, startedAtMs: this.#network.now() };
    this.#attempts.add(attempt);
    session.send(pairDeviceNode(session.nextId(), refs));
  }

  /** The QR codes are used up. A code that can still be typed keeps the connection. */
  #expire(attempt: PairingAttempt): void {
    const { code, session } = attempt;
    const leftMs = (code?.expiresAtMs ?? 0) - this.#network.now();
    if (!Number.isFinite(leftMs) || leftMs <= 0) return session.close();
    attempt.expiry = setTimeout(() => this.#expire(attempt), leftMs).unref();
  }

  /** The connection of a registering client is gone. */
  forget(session: Session): void {
    const attempt = this.#attemptOf(session);
    if (!attempt) return;
    clearTimeout(attempt.expiry);
    this.#attempts.delete(attempt);
    attempt.confirming?.settle(new PairingError('client is gone'));
  }

  /**
   * A phone scans a code. `number` says whose; else the client's name decides, else it is an unused number. The account
   * gets the namespace that is given here or in the query of the code's URL; else it keeps its own.
   */
  async scanQr(text: string, options: ScanOptions | string = {}): Promise<PairingResult> {
    const { number, addressing } = typeof options === 'string' ? { number: options, addressing: undefined } : options;
    const qr = readQr(text);
    const attempt = [...this.#attempts].find((each) => qr && each.refs.includes(qr.ref));
    if (!attempt || !qr || this.#isRotatedOut(attempt, qr.ref)) {
      throw this.#linker.refusal('code is not known or used up');
    }
    const { keys, pushName } = attempt.registration;
    const fits = keys.noiseKey.toString('base64') === qr.noiseKey && keys.identity.toString('base64') === qr.identity;
    if (!fits) throw this.#linker.refusal('code belongs to another client');
    const { accounts } = this.#network;
    const known = number ?? (pushName && accounts.numberOfName(pushName));
    if (known) this.#linker.demandPasskey(attempt, known);
    this.#retireFirstSecret(attempt, qr);
    const advSecret = Buffer.from(qr.advSecret, 'base64');
    const order = { number: known ?? accounts.unusedNumber(), advSecret, addressing: addressing ?? qr.addressing };
    return this.#linker.link(attempt, order);
  }

  /** The first scan ends the life of the secret on the screen. A repeated scan of the same secret does nothing at all. */
  #retireFirstSecret(attempt: PairingAttempt, { advSecret }: QrText): void {
    if (!this.#network.settings.refreshAfterScan) return;
    if (this.#codes.isFinishing(attempt.code)) throw this.#linker.refusal('a typed code is in progress');
    if (attempt.retiredSecret === undefined) {
      attempt.retiredSecret = advSecret;
      const { session } = attempt;
      session.send(refreshRegistrationNode(session.nextId(), this.#network.now()));
    }
    if (attempt.retiredSecret === advSecret) throw this.#linker.refusal('scan again');
  }

  /** Codes live one after the other. A client may show one early; one that is late is dead. */
  #isRotatedOut({ refs, startedAtMs }: PairingAttempt, ref: string): boolean {
    const { firstQrMs, nextQrMs } = this.#network.settings;
    const endMs = firstQrMs + refs.indexOf(ref) * nextQrMs + QR_GRACE_MS;
    return this.#network.now() > startedAtMs + endMs;
  }

  /** A query of a client that is not linked yet, about its linking. */
  receiveQuery(session: Session, query: BinaryNode): void {
    const attempt = this.#attemptOf(session);
    const step = childrenOf(query)[0];
    if (step?.attrs.stage === 'companion_hello' && attempt) return this.#codes.request(attempt, query);
    if (step?.attrs.stage === 'companion_finish' && this.#codes.receiveKeyBundle(attempt, query)) return;
    if (step?.tag === 'ref' && attempt) return session.reply(query, [node('ref', {}, Buffer.from(attempt.refs[0]!))]);
    if (step?.tag === 'passkey_request_options') return session.reply(query, [passkeyOptionsNode('')]);
    if (step?.tag === 'passkey_prologue') return session.replyError(query, 501, 'feature-not-implemented');
    session.replyError(query, 400, 'bad-request');
  }

  /** The owner of a number types a code. */
  async enterCode(number: string, code: string, addressing?: Addressing): Promise<PairingResult> {
    const { attempt, request } = this.#codeOf(number);
    return this.#codes.enter(attempt, request, { code, addressing });
  }

  /** The network asks the client of a number for another code; `isForced`: its user must do it by hand. */
  refreshCode(number: string, isForced = false): void {
    const { attempt, request } = this.#codeOf(number);
    this.#codes.refresh(attempt, request, isForced);
  }

  #codeOf(number: string): { attempt: PairingAttempt; request: CodeRequest } {
    const attempt = [...this.#attempts].reverse().find((each) => each.code?.number === number);
    if (!attempt?.code) throw this.#linker.refusal('no client waits for a code of this number');
    return { attempt, request: attempt.code };
  }

  /** An answer to a query of ours; true if it was the signature that a pairing waits for. */
  receiveSignature(session: Session, answer: BinaryNode): boolean {
    const confirming = this.#attemptOf(session)?.confirming;
    if (!confirming || confirming.queryId !== answer.attrs.id) return false;
    const identity = childBytes(childNamed(answer, 'pair-device-sign'), 'device-identity');
    confirming.settle(identity ?? new PairingError('device signature does not verify'));
    return true;
  }

  #attemptOf(session: Session): PairingAttempt | undefined {
    return [...this.#attempts].find((attempt) => attempt.session === session);
  }
}

import { randomBytes } from 'node:crypto';
import type { LinkedDevice } from '../accounts/linked-device.js';
import type { Addressing } from '../directory/jids.js';
import type { Network } from '../network/network.js';
import type { Session } from '../sessions/session.js';
import { type BinaryNode, childBytes, childNamed } from '../wire/nodes.js';
import { type PairingAttempt, PairingError, type PairingRefusal, type PairingResult } from './pairing-attempt.js';
import { codeRefNode, pairDeviceNode, pairSuccessNode, primaryHelloNode } from './pairing-nodes.js';
import type { Registration } from './registration.js';
import { deviceAccepts, signDevice } from './sign-device.js';
import { answerWithCode, openKeyBundle } from './unwrap-code.js';

/** How long phone and client wait for each other's next step. */
const ANSWER_MS = 10_000;
/** How much longer than its time on the screen a QR code can be scanned. */
const QR_GRACE_MS = 5_000;

/** Whose phone scans a code, and in which namespace its account's conversations are. */
export interface ScanOptions {
  readonly number?: string | undefined;
  readonly addressing?: Addressing | undefined;
}

type Owner = ScanOptions & { readonly number: string };

/**
 * Links clients to accounts, both ways. The client shows a code; a phone scans it, or its owner types it; the phone
 * vouches for the client's identity; the client signs back; the server keeps the device and asks for a restart (515).
 * Nothing is kept before the client's signature has verified.
 */
export class PairingDesk {
  readonly #network: Network;
  readonly #onLinked: (device: LinkedDevice) => void;
  readonly #attempts = new Set<PairingAttempt>();

  constructor(network: Network, onLinked: (device: LinkedDevice) => void) {
    this.#network = network;
    this.#onLinked = onLinked;
  }

  /** A client registers: it gets its codes, and the time in which one must be used. */
  start(session: Session, registration: Registration): void {
    const { qrCodes, firstQrMs, nextQrMs } = this.#network.settings;
    const refs = Array.from({ length: qrCodes }, () => `2@${randomBytes(48).toString('base64url')}`);
    const expiry = setTimeout(() => session.close(), firstQrMs + (qrCodes - 1) * nextQrMs).unref();
    this.#attempts.add({ session, registration, refs, expiry, startedAtMs: this.#network.now() });
    session.send(pairDeviceNode(session.nextId(), refs));
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
    const { number, addressing = addressingIn(text) } = typeof options === 'string' ? { number: options } : options;
    const [ref = '', noiseKey, identity, advSecret] = (text.trim().split('#').pop() ?? '').split(',');
    const attempt = [...this.#attempts].find((each) => each.refs.includes(ref));
    if (!attempt || !advSecret || this.#isRotatedOut(attempt, ref)) throw this.#refusal('code is not known or used up');
    const { keys, pushName } = attempt.registration;
    const fits = keys.noiseKey.toString('base64') === noiseKey && keys.identity.toString('base64') === identity;
    if (!fits) throw this.#refusal('code belongs to another client');
    const { accounts } = this.#network;
    const owner = number ?? (pushName ? accounts.numberOfName(pushName) : accounts.unusedNumber());
    return this.#link(attempt, { number: owner, addressing }, Buffer.from(advSecret, 'base64'));
  }

  /** Codes live one after the other. A client may show one early; one that is late is dead. */
  #isRotatedOut({ refs, startedAtMs }: PairingAttempt, ref: string): boolean {
    const { firstQrMs, nextQrMs } = this.#network.settings;
    const endMs = firstQrMs + refs.indexOf(ref) * nextQrMs + QR_GRACE_MS;
    return this.#network.now() > startedAtMs + endMs;
  }

  /** A step of linking by an 8-character code. */
  receiveCodeStep(session: Session, query: BinaryNode): void {
    const stage = childNamed(query, 'link_code_companion_reg')?.attrs.stage;
    if (stage === 'companion_hello') return this.#requestCode(session, query);
    if (stage === 'companion_finish') return this.#receiveKeyBundle(session, query);
    session.replyError(query, 400, 'bad-request');
  }

  /** The client asks for a code that its user will type on the phone of a number. */
  #requestCode(session: Session, query: BinaryNode): void {
    const request = childNamed(query, 'link_code_companion_reg');
    const number = this.#network.directory.resolve(request?.attrs.jid)?.number;
    const wrappedClientKey = childBytes(request, 'link_code_pairing_wrapped_companion_ephemeral_pub', 80);
    const attempt = this.#attemptOf(session);
    if (!attempt || !number || !wrappedClientKey) return session.replyError(query, 400, 'bad-request');
    if (!this.#network.directory.exists(number)) return session.replyError(query, 404, 'item-not-found');
    attempt.code = { number, ref: randomBytes(16), wrappedClientKey };
    session.reply(query, [codeRefNode(attempt.code.ref)]);
  }

  /** The owner of a number types a code. */
  async enterCode(number: string, code: string, addressing?: Addressing): Promise<PairingResult> {
    const attempt = [...this.#attempts].reverse().find((each) => each.code?.number === number);
    if (!attempt?.code) throw this.#refusal('no client waits for a code of this number');
    const half = await answerWithCode(code.replace(/[\s-]/g, '').toUpperCase(), attempt.code.wrappedClientKey);
    const { identity } = this.#network.phones.keyring.keysOf(number);
    const waiting = this.#awaitKeyBundle(attempt);
    attempt.session.send(
      primaryHelloNode(attempt.session.nextId(), half.wrapped, identity.publicKey, attempt.code.ref),
    );
    const { bundle, clientIdentity } = await waiting;
    const known = attempt.registration.keys.identity.equals(clientIdentity);
    const advSecret = known ? openKeyBundle(half, identity, bundle, clientIdentity) : undefined;
    if (!advSecret) throw this.#refusal('wrong code');
    return this.#link(attempt, { number, addressing }, advSecret);
  }

  /** The client answers the phone's half: its key bundle goes to the phone. */
  #receiveKeyBundle(session: Session, query: BinaryNode): void {
    const answer = childNamed(query, 'link_code_companion_reg');
    const code = this.#attemptOf(session)?.code;
    const ref = childBytes(answer, 'link_code_pairing_ref');
    const bundle = childBytes(answer, 'link_code_pairing_wrapped_key_bundle');
    const clientIdentity = childBytes(answer, 'companion_identity_public', 32);
    if (!code?.onKeyBundle || !bundle || !clientIdentity || !ref?.equals(code.ref)) {
      return session.replyError(query, 400, 'bad-request');
    }
    session.reply(query);
    code.onKeyBundle(bundle, clientIdentity);
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

  async #link(attempt: PairingAttempt, { number, addressing }: Owner, advSecret: Buffer): Promise<PairingResult> {
    const { directory, faults, phones, accounts } = this.#network;
    if (attempt.confirming) throw this.#refusal('code is not known or used up');
    if (!directory.exists(number)) throw this.#refusal('number is not on the messenger');
    const fault = faults.strike('pairing', { account: number });
    if (fault?.refuse) throw this.#refusal('refused');
    if (fault?.streamError) attempt.session.endStream(fault.streamError);
    const account = accounts.ensure(number);
    if (addressing) account.addressing = addressing;
    const { identity } = attempt.registration.keys;
    const keyIndex = account.takeDeviceId();
    const claim = { rawId: account.rawId, keyIndex, identity, atMs: this.#network.now() };
    const signed = signDevice(phones.keyring.keysOf(number), claim, advSecret);
    const queryId = attempt.session.nextId();
    const answer = this.#awaitSignature(attempt, { queryId, number, signed });
    attempt.session.send(
      pairSuccessNode(this.#network, queryId, { account, deviceId: keyIndex, sealed: signed.sealed }),
    );
    const signedIdentity = Buffer.from(await answer);
    if (!deviceAccepts(signed, identity, signedIdentity)) {
      this.#network.counters.invalidSignatures += 1;
      attempt.session.close();
      throw this.#refusal('device signature does not verify');
    }
    return this.#keep(attempt, number, keyIndex, signedIdentity);
  }

  #keep(attempt: PairingAttempt, number: string, id: number, signedIdentity: Buffer): PairingResult {
    const { session, registration } = attempt;
    const account = this.#network.accounts.ensure(number);
    if (registration.pushName) account.pushName = registration.pushName;
    const device = account.addDevice(
      { id, platform: registration.platform, atMs: this.#network.now() },
      { ...registration.keys, signedIdentity },
    );
    this.#network.counters.pairings += 1;
    this.#onLinked(device);
    session.endStream(515);
    return { number, jid: this.#network.directory.jidOf(number, 'pn', device.id), device: device.id };
  }

  #awaitSignature(
    attempt: PairingAttempt,
    about: { queryId: string; number: string; signed: ReturnType<typeof signDevice> },
  ) {
    return new Promise<Uint8Array>((resolve, reject) => {
      const timer = setTimeout(() => reject(this.#refusal('client did not answer')), ANSWER_MS).unref();
      const settle = (answer: Uint8Array | PairingError) => {
        clearTimeout(timer);
        delete attempt.confirming;
        if (answer instanceof PairingError) reject(answer);
        else resolve(answer);
      };
      attempt.confirming = { ...about, settle };
    });
  }

  #awaitKeyBundle({ code }: PairingAttempt) {
    return new Promise<{ bundle: Buffer; clientIdentity: Buffer }>((resolve, reject) => {
      const timer = setTimeout(() => reject(this.#refusal('client did not answer')), ANSWER_MS).unref();
      code!.onKeyBundle = (bundle, clientIdentity) => {
        clearTimeout(timer);
        code!.onKeyBundle = undefined;
        resolve({ bundle, clientIdentity });
      };
    });
  }

  #refusal(reason: PairingRefusal): PairingError {
    this.#network.counters.refusedPairings += 1;
    return new PairingError(reason);
  }
}

/** What a code says before its `#`: `https://host/path?addressing=pn#ref,...`. */
function addressingIn(text: string): Addressing | undefined {
  const query = text.split('#')[0]!.split('?')[1];
  const given = new URLSearchParams(query ?? '').get('addressing');
  return given === 'pn' || given === 'lid' ? given : undefined;
}

import type { LinkedDevice } from '../accounts/linked-device.js';
import type { Addressing } from '../directory/jids.js';
import type { FaultAction } from '../faults/fault-book.js';
import type { Network } from '../network/network.js';
import { type PairingAttempt, PairingError, type PairingRefusal, type PairingResult } from './pairing-attempt.js';
import { pairSuccessNode, passkeyRequestNode } from './pairing-nodes.js';
import { deviceAccepts, type SignedDevice, signDevice } from './sign-device.js';

/** How long phone and client wait for each other's next step. */
const ANSWER_MS = 10_000;

export interface LinkOrder {
  readonly number: string;
  readonly advSecret: Buffer;
  readonly addressing?: Addressing | undefined;
  /** Unix milliseconds; later the client has given up. */
  readonly deadlineMs?: number;
}

/** The end of a link, the same for both ways: the phone vouches for the client, which signs back; then it is kept. */
export class DeviceLinker {
  readonly #network: Network;
  readonly #onLinked: (device: LinkedDevice) => void;

  constructor(network: Network, onLinked: (device: LinkedDevice) => void) {
    this.#network = network;
    this.#onLinked = onLinked;
  }

  async link(attempt: PairingAttempt, order: LinkOrder): Promise<PairingResult> {
    const { directory, faults } = this.#network;
    if (attempt.confirming) throw this.refusal('code is not known or used up');
    if (!directory.exists(order.number)) throw this.refusal('number is not on the messenger');
    const fault = faults.strike('pairing', { account: order.number }, (rule) => rule.do.error === undefined);
    if (fault?.refuse) throw this.refusal('refused');
    if (fault?.streamError) attempt.session.endStream(fault.streamError);
    this.demandPasskey(attempt, order.number);
    await this.#delay(fault);
    if (this.#network.now() > (order.deadlineMs ?? Infinity)) throw this.refusal('code has expired');
    if (attempt.session.state === 'closed') throw this.refusal('client is gone');
    return this.#confirm(attempt, order);
  }

  /** An account with a passkey links no client that cannot show it: the client is told, and that is all. */
  demandPasskey({ session }: PairingAttempt, number: string): void {
    const { accounts, now, rules } = this.#network;
    if (!rules.demandsPasskeys || !accounts.find(number)?.passkey) return;
    session.send(passkeyRequestNode(session.nextId(), number, now()));
    throw this.refusal('passkey required');
  }

  refusal(reason: PairingRefusal): PairingError {
    this.#network.counters.refusedPairings += 1;
    return new PairingError(reason);
  }

  #delay(fault: FaultAction | undefined): Promise<void> | undefined {
    const delayMs = fault ? this.#network.faults.delayOf(fault) : 0;
    return delayMs === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, delayMs).unref());
  }

  async #confirm(attempt: PairingAttempt, order: LinkOrder): Promise<PairingResult> {
    const { accounts, phones } = this.#network;
    if (attempt.confirming) throw this.refusal('code is not known or used up');
    const account = accounts.ensure(order.number);
    if (order.addressing) account.addressing = order.addressing;
    const { identity } = attempt.registration.keys;
    const keyIndex = account.takeDeviceId();
    const claim = { rawId: account.rawId, keyIndex, identity, atMs: this.#network.now() };
    const signed = signDevice(phones.keyring.keysOf(order.number), claim, order.advSecret);
    const queryId = attempt.session.nextId();
    const answer = this.#awaitSignature(attempt, { queryId, number: order.number, signed });
    const place = { account, deviceId: keyIndex, sealed: signed.sealed };
    attempt.session.send(pairSuccessNode(this.#network, queryId, place));
    const signedIdentity = Buffer.from(await answer);
    if (!deviceAccepts(signed, identity, signedIdentity)) {
      this.#network.counters.invalidSignatures += 1;
      attempt.session.close();
      throw this.refusal('device signature does not verify');
    }
    return this.#keep(attempt, order.number, keyIndex, signedIdentity);
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

  #awaitSignature(attempt: PairingAttempt, about: { queryId: string; number: string; signed: SignedDevice }) {
    return new Promise<Uint8Array>((resolve, reject) => {
      const timer = setTimeout(() => settle(this.refusal('client did not answer')), ANSWER_MS).unref();
      const settle = (answer: Uint8Array | PairingError) => {
        clearTimeout(timer);
        delete attempt.confirming;
        if (answer instanceof PairingError) reject(answer);
        else resolve(answer);
      };
      attempt.confirming = { ...about, settle };
    });
  }
}

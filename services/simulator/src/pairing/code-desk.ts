import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Addressing } from '../directory/jids.js';
import type { Network } from '../network/network.js';
import { type BinaryNode, childBytes, childNamed, textOf } from '../wire/nodes.js';
import type { DeviceLinker } from './device-linker.js';
import { isRealDisplayName } from './display-name.js';
import type { CodeRequest, PairingAttempt, PairingResult } from './pairing-attempt.js';
import { codeRefNode, primaryHelloNode, refreshCodeNode } from './pairing-nodes.js';
import { answerWithCode, openKeyBundle, type PhoneHalf } from './unwrap-code.js';

/** How long the phone waits for the client's next step. */
const ANSWER_MS = 10_000;
/** From the phone's half to the end of the link: clients wait no longer. */
const FINISH_MS = 60_000;
/** The phone is not beside the server: its answer comes after the client has read that its own step was taken. */
const PHONE_TURN_MS = 50;
/** How often a code can be typed wrongly. */
const LARGEST_TRIES = 3;

interface TypedCode {
  readonly code: string;
  readonly addressing: Addressing | undefined;
}

interface Verdict {
  readonly refusal?: readonly [code: number, text: string];
  readonly request?: { readonly number: string; readonly wrappedClientKey: Buffer };
}

/** Linking by an 8-character code: the client asks for one, the owner of the number types it on the phone. */
export class CodeDesk {
  readonly #network: Network;
  readonly #linker: DeviceLinker;

  constructor(network: Network, linker: DeviceLinker) {
    this.#network = network;
    this.#linker = linker;
  }

  /** The client asks for a code that its user will type on the phone of a number. The verdict takes its time. */
  request(attempt: PairingAttempt | undefined, query: BinaryNode): void {
    const { refusal, request } = this.#judge(query);
    const answer = () => {
      if (!attempt || attempt.session.state === 'closed') return;
      if (refusal || !request)
        return attempt.session.replyError(query, ...(refusal ?? ([400, 'bad-request'] as const)));
      attempt.code = this.#open(request);
      attempt.session.reply(query, [codeRefNode(attempt.code.ref)]);
    };
    const { codeVerdictMs } = this.#network.settings;
    if (codeVerdictMs === 0) answer();
    else setTimeout(answer, codeVerdictMs).unref();
  }

  #judge(query: BinaryNode): Verdict {
    const { directory, faults, rules } = this.#network;
    const request = childNamed(query, 'link_code_companion_reg');
    const number = directory.resolve(request?.attrs.jid)?.number;
    const wrappedClientKey = childBytes(request, 'link_code_pairing_wrapped_companion_ephemeral_pub', 80);
    if (!number || !wrappedClientKey) return { refusal: [400, 'bad-request'] };
    const fault = faults.strike('pairing', { account: number }, (rule) => rule.do.error !== undefined);
    if (fault?.error) return { refusal: [fault.error, REFUSALS[fault.error] ?? 'fault'] };
    const display = textOf(childNamed(request, 'companion_platform_display'));
    if (rules.judgesCodes && !isRealDisplayName(display)) return { refusal: [400, 'bad-request'] };
    if (!directory.exists(number)) return { refusal: [404, 'item-not-found'] };
    return { request: { number, wrappedClientKey } };
  }

  #open(request: { number: string; wrappedClientKey: Buffer }): CodeRequest {
    const { rules, settings, now } = this.#network;
    const expiresAtMs = rules.judgesCodes ? now() + settings.codeLifeMs : Infinity;
    return { ...request, ref: randomBytes(16), expiresAtMs, wrongTries: 0 };
  }

  /** The owner of a number types a code. */
  async enter(attempt: PairingAttempt, code: CodeRequest, typed: TypedCode): Promise<PairingResult> {
    if (this.#network.now() > code.expiresAtMs) throw this.#linker.refusal('code has expired');
    const half = await answerWithCode(typed.code.replace(/[\s-]/g, '').toUpperCase(), code.wrappedClientKey);
    const { identity } = this.#network.phones.keyring.keysOf(code.number);
    const deadlineMs = this.#network.now() + FINISH_MS;
    const waiting = this.#awaitKeyBundle(code);
    attempt.session.send(primaryHelloNode(attempt.session.nextId(), half.wrapped, identity.publicKey, code.ref));
    const advSecret = this.#openBundle(attempt, half, identity, await waiting);
    const order = { number: code.number, deadlineMs, addressing: typed.addressing };
    try {
      await delay(PHONE_TURN_MS, undefined, { ref: false });
      if (advSecret) return await this.#linker.link(attempt, { ...order, advSecret });
    } finally {
      code.finishedAtMs = undefined;
    }
    this.#countWrongTry(attempt, code);
    throw this.#linker.refusal('wrong code');
  }

  #openBundle(
    { registration }: PairingAttempt,
    half: PhoneHalf,
    identity: Parameters<typeof openKeyBundle>[1],
    { bundle, clientIdentity }: { bundle: Buffer; clientIdentity: Buffer },
  ): Buffer | undefined {
    const known = registration.keys.identity.equals(clientIdentity);
    return known ? openKeyBundle(half, identity, bundle, clientIdentity) : undefined;
  }

  /** Whether the link that a typed code started may still come: a new secret would break it. */
  isFinishing(code: CodeRequest | undefined): boolean {
    if (!this.#network.rules.judgesCodes || code?.finishedAtMs === undefined) return false;
    return this.#network.now() < code.finishedAtMs + FINISH_MS;
  }

  /** Asks the client for another code. */
  refresh({ session }: PairingAttempt, { ref }: CodeRequest, isForced: boolean): void {
    session.send(refreshCodeNode(session.nextId(), ref, isForced));
  }

  /** The client answers the phone's half: its key bundle goes to the phone. */
  receiveKeyBundle(attempt: PairingAttempt | undefined, query: BinaryNode): boolean {
    const answer = childNamed(query, 'link_code_companion_reg');
    const code = attempt?.code;
    const ref = childBytes(answer, 'link_code_pairing_ref');
    const bundle = childBytes(answer, 'link_code_pairing_wrapped_key_bundle');
    const clientIdentity = childBytes(answer, 'companion_identity_public', 32);
    if (!code?.onKeyBundle || !bundle || !clientIdentity || !ref?.equals(code.ref)) return false;
    attempt?.session.reply(query);
    code.finishedAtMs = this.#network.now();
    code.onKeyBundle(bundle, clientIdentity);
    return true;
  }

  #countWrongTry(attempt: PairingAttempt, code: CodeRequest): void {
    code.wrongTries += 1;
    const isOver = this.#network.rules.judgesCodes && code.wrongTries >= LARGEST_TRIES;
    if (isOver && attempt.code === code) attempt.code = undefined;
  }

  #awaitKeyBundle(code: CodeRequest) {
    return new Promise<{ bundle: Buffer; clientIdentity: Buffer }>((resolve, reject) => {
      const timer = setTimeout(() => reject(this.#linker.refusal('client did not answer')), ANSWER_MS).unref();
      code.onKeyBundle = (bundle, clientIdentity) => {
        clearTimeout(timer);
        code.onKeyBundle = undefined;
        resolve({ bundle, clientIdentity });
      };
    });
  }
}

/** How the server words its refusals of a code. */
const REFUSALS: Record<number, string> = {
  400: 'bad-request',
  429: 'rate-overlimit',
  452: 'feature-not-available',
};

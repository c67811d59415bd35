import { systemClock } from '@gateway/runtime/clock';
import { type Deferred, defer } from '@gateway/runtime/deferred';
import { type BaileysSocket, type BinaryNode, jidDecode, jidNormalizedUser, proto } from '../socket/baileys.js';
import { confirmStanza } from './confirm-unread.js';
import { isPlatformId } from './read-inbound.js';

export interface AbsentMessagesDeps {
  sock: BaileysSocket;
  /** Resolves when it is written down. Without `content` the phone does not have it either, or did not answer. */
  handOver(stanza: BinaryNode, content?: proto.IMessage): Promise<void>;
  /** Aborted when the session ends: what waits then and is not confirmed comes again at the next login. */
  signal: AbortSignal;
  answerMs?: number | undefined;
}

/** What comes within that time is asked for together, as by the network's own client, and so many at a time. */
const GATHER_MS = 200;
const MOST_ASKED = 32;
/** A kilobyte each. Campaigns bring hundreds in a night; what is beyond that is lost, as the phone is not asked for it. */
const MOST_WAITING = 4_096;
/** A phone that is switched off may answer in a week. */
const ANSWER_MS = 60_000;
/** It is asked at once, and after each of these parts of that time but the last: the question may get lost, or the phone not have the message yet. */
const PAUSES = [1 / 6, 1 / 3, 1 / 2] as const;
/** A session with the phone that is as new is not made anew. */
const RENEW_AGAIN_MS = 60 * 60_000;
/** Its writer's phone has sent it anew as often, and it still cannot be decrypted. */
const MOST_FAILURES = 3;
const MOST_FAILED = 200;
/** The network's own client asks for none that are older. */
const OLDEST_MS = 14 * 24 * 60 * 60_000;

interface About {
  /** Jid without a device. */
  writer: string;
  atMs: number;
}

interface Waiting {
  /** Without its content. */
  stanza: BinaryNode;
  /** The library has confirmed it already. */
  isConfirmed: boolean;
  timer: NodeJS.Timeout | undefined;
  /** It is being written down. */
  handedOver: Promise<void> | undefined;
  settled: Deferred<void>;
}

const { PLACEHOLDER_MESSAGE_RESEND } = proto.Message.PeerDataOperationRequestType;

/**
 * Messages that come to this device without their content, and without a reason why it must not have that: often the first one of a
 * person who came by an advertisement. The account's phone has the content, and is asked for it:
 *
 *   arrived -> asked for, three times at most -> (answered; or a minute is over) -> handed over -> confirmed
 *
 * Those that wait hold up no others. They are confirmed last: a process that ends before that gets them again at its next login.
 */
export class AbsentMessages {
  readonly #deps: AbsentMessagesDeps;
  /** By writer and id: phones choose the ids of what they write, and two of them may choose the same. */
  readonly #waiting = new Map<string, Waiting>();
  /** How often what cannot be decrypted has come. */
  readonly #failures = new Map<string, number>();
  #toAsk: { messageKey: proto.IMessageKey; isAgain: boolean }[] = [];
  #renewal: { sinceMs: number; done: Promise<unknown> } | undefined;
  readonly #ended = defer<void>();

  constructor(deps: AbsentMessagesDeps) {
    this.#deps = deps;
    deps.signal.addEventListener('abort', () => this.#stop(), { once: true });
  }

  /** One of a person has arrived. Resolves when it is written down, or waits. */
  take(stanza: BinaryNode, about: About): Promise<void> {
    return this.#take({ stanza, isConfirmed: false }, about);
  }

  /**
   * One that cannot be decrypted: its writer's phone is asked first, by the library, which confirms it. So it is lost if the process dies
   * while this device's phone is asked. Where only the session ends, it is told as something that is not known.
   */
  async failed(stanza: BinaryNode, about: About): Promise<void> {
    const key = keyOf(stanza.attrs);
    if (!isPlatformId(stanza.attrs.id)) return;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.delete(key);
    if (failures >= MOST_FAILURES) return this.#take({ stanza, isConfirmed: true }, about);
    this.#failures.set(key, failures);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MOST_FAILED) this.#failures.delete(oldest!);
  }

  async #take(one: Pick<Waiting, 'stanza' | 'isConfirmed'>, { writer, atMs }: About): Promise<void> {
    const { tag, attrs } = one.stanza;
    const { id } = attrs;
    const key = keyOf(attrs);
    if (this.#waiting.has(key)) return;
    const isTooOld = systemClock.nowMs() - atMs > OLDEST_MS;
    const isTooLate = one.isConfirmed && this.#deps.signal.aborted;
    const isFull = this.#waiting.size >= MOST_WAITING;
    if (!isPlatformId(id) || isTooOld || isTooLate || isFull) return this.#handOver(one);
    const answerMs = this.#deps.answerMs ?? ANSWER_MS;
    const messageKey = { remoteJid: writer, fromMe: false, id };
    const ask = ([pause, ...pauses]: readonly number[], isAgain = false) => {
      if (pause === undefined) return void this.#settle(key).catch(() => {});
      waiting.timer = setTimeout(() => ask(pauses, true), pause * answerMs).unref();
      this.#toAsk.push({ messageKey, isAgain });
      if (this.#toAsk.length === 1) setTimeout(() => void this.#ask(), GATHER_MS).unref();
    };
    // What could not be decrypted may be as long as a frame.
    const stanza = { tag, attrs };
    const waiting: Waiting = { ...one, stanza, timer: undefined, handedOver: undefined, settled: defer<void>() };
    this.#waiting.set(key, waiting);
    ask(PAUSES);
  }

  /** Resolves when all that wait now are written down; never if the session ends first. */
  async settled(): Promise<void> {
    await Promise.all([...this.#waiting.values()].map(({ settled }) => settled.promise));
  }

  /** Resolves once the session has ended, and what the network would not say again is written down as far as that is possible. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Its writer has changed this one, or taken it back. Resolves when it is written down, as something that is not known: later it would undo that. */
  async overtaken(from: string | undefined, id: string): Promise<void> {
    await this.#settle(keyOf({ id, ...(from && { from }) }));
  }

  /** What the account's phone says. */
  async answered(response: proto.Message.IPeerDataOperationRequestResponseMessage): Promise<void> {
    for (const { placeholderMessageResendResponse: found } of response.peerDataOperationResult ?? []) {
      const { key, message } = readFound(found?.webMessageInfoBytes) ?? {};
      // What has no content there either may still be on its way to the phone.
      if (!key?.id || key.fromMe || !message) continue;
      const about = this.#find(key);
      if (about) await this.#settle(about, message);
    }
  }

  /** The phone may know the writer by a name that is not in the stanza: it is then the one that waits under this id. */
  #find({ id, remoteJid }: proto.IMessageKey): string | undefined {
    const jid = remoteJid ?? '';
    const asAsked = keyOf({ id: id ?? '', from: jid });
    if (this.#waiting.has(asAsked)) return asAsked;
    const waiting = [...this.#waiting].filter(([, { stanza }]) => stanza.attrs.id === id);
    const sure = waiting.find(([, { stanza }]) => isWrittenBy(stanza, jid));
    if (sure) return sure[0];
    const possible = waiting.filter(([, { stanza }]) => isWrittenBy(stanza, jid) === undefined);
    return possible.length === 1 ? possible[0]![0] : undefined;
  }

  async #ask(): Promise<void> {
    const { sock, signal } = this.#deps;
    if (signal.aborted) return;
    const asked = this.#toAsk.splice(0, MOST_ASKED);
    if (this.#toAsk.length > 0) setTimeout(() => void this.#ask(), GATHER_MS).unref();
    const request = {
      peerDataOperationRequestType: PLACEHOLDER_MESSAGE_RESEND,
      placeholderMessageResendRequest: asked.map(({ messageKey }) => ({ messageKey })),
    };
    if (asked.some(({ isAgain }) => isAgain)) await this.#renewSession();
    // Without an answer they are handed over as they are.
    await sock.sendPeerDataOperationMessage(request).catch(() => {});
  }

  /**
   * A phone cannot read the question where the last owner ended with steps of the ratchet that were not stored. One new session helps, and
   * each takes one of the keys that the phone has left at the network: one that is off for a night leaves no more. Where the network gives
   * none now, the question goes out all the same.
   */
  async #renewSession(): Promise<void> {
    const { sock } = this.#deps;
    const nowMs = systemClock.monotonicMs();
    if (!this.#renewal || nowMs - this.#renewal.sinceMs > RENEW_AGAIN_MS) {
      const renew = async () => sock.assertSessions([jidNormalizedUser(sock.user?.id)], true);
      const forget = () => {
        this.#renewal = undefined;
      };
      this.#renewal = { sinceMs: nowMs, done: renew().catch(forget) };
    }
    await this.#renewal.done;
  }

  /** Resolves when it is written down. Where that fails, it has ended the session already. */
  async #settle(key: string, content?: proto.IMessage): Promise<void> {
    const waiting = this.#waiting.get(key);
    if (!waiting) return;
    clearTimeout(waiting.timer);
    waiting.handedOver ??= this.#handOver(waiting, content).then(() => {
      this.#waiting.delete(key);
      if (!this.#deps.signal.aborted) waiting.settled.resolve();
    });
    await waiting.handedOver;
  }

  async #handOver(
    { stanza, isConfirmed }: Pick<Waiting, 'stanza' | 'isConfirmed'>,
    content?: proto.IMessage,
  ): Promise<void> {
    await this.#deps.handOver(stanza, content);
    if (!isConfirmed) confirmStanza(this.#deps.sock, stanza);
  }

  #stop(): void {
    const told: Promise<void>[] = [];
    for (const [key, { timer, isConfirmed }] of this.#waiting) {
      clearTimeout(timer);
      if (isConfirmed) told.push(this.#settle(key));
      else this.#waiting.delete(key);
    }
    void Promise.allSettled(told).then(() => this.#ended.resolve());
  }
}

function keyOf({ id = '', from }: BinaryNode['attrs']): string {
  return `${jidNormalizedUser(from)}/${id}`;
}

/** `undefined`: the stanza has no name of its writer of the kind of this one. */
function isWrittenBy({ attrs }: BinaryNode, jid: string): boolean | undefined {
  const names = [attrs.from, attrs.sender_pn, attrs.sender_lid, attrs.participant_pn, attrs.participant_lid];
  const sought = jidDecode(jid);
  const alike = names.map((name) => jidDecode(name)).filter((name) => name && name.server === sought?.server);
  return alike.length === 0 ? undefined : alike.some((name) => name!.user === sought!.user);
}

/** `undefined` for what is no message. */
function readFound(bytes: Uint8Array | null | undefined): proto.IWebMessageInfo | undefined {
  try {
    return bytes?.length ? withSecret(proto.WebMessageInfo.decode(bytes)) : undefined;
  } catch {
    return undefined;
  }
}

/** A phone keeps it beside the message. */
function withSecret(found: proto.IWebMessageInfo): proto.IWebMessageInfo {
  const { message, messageSecret } = found;
  if (!message || !messageSecret?.length) return found;
  return { ...found, message: { ...message, messageContextInfo: { ...message.messageContextInfo, messageSecret } } };
}

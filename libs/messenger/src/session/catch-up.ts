import type { BacklogState } from '@gateway/contracts/devices/session-report';
import { defer } from '@gateway/runtime/deferred';
import type { Logger } from '@gateway/runtime/logs/logger';
import { type Intake, takeInTurn } from '../inbound/take-in-turn.js';
import type { BaileysSocket, BinaryNode } from '../socket/baileys.js';
import { getBinaryNodeChild, S_WHATSAPP_NET } from '../socket/baileys.js';

export interface CatchUpDeps {
  sock: BaileysSocket;
  logger: Logger;
  /** Aborted when the session ends. */
  signal: AbortSignal;
  /** The backlog counts as over after this time without new or handled messages of it. Default 60 s. */
  quietMs?: number | undefined;
  timers?: Timers;
}

/** Source of time; tests can pass their own. */
export interface Timers {
  nowMs(): number;
  /** Returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
}

const systemTimers: Timers = {
  nowMs: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** Like the web client: batches of this size, and at most one request in 100 ms by the network's clock. */
const BATCH = 200;
const BETWEEN_BATCHES_MS = 120;
/** After a request without a result. */
const ASK_AGAIN_MS = 2_000;
const QUIET_MS = 60_000;
const MARKED = ['message', 'receipt', 'notification', 'call', 'status'];
/** Nothing has come by then: the network may not know that we listen. Each time twice as long after the one before, up to the latter. */
const LISTEN_AGAIN_MS = 10_000;
const LISTEN_AGAIN_MOST_MS = 300_000;

/**
 * Receives the backlog that the network kept while the device was offline:
 *
 *   waiting -> (the network's end mark, and all messages handled; or silence) -> done
 *
 * The network announces a backlog, sends some of it, and the rest in batches on request. The next
 * one is requested when the last is mostly handled: a long backlog waits in the network, not in this process.
 */
export class CatchUp {
  readonly #deps: CatchUpDeps;
  readonly #timers: Timers;
  readonly #intake: Intake;
  readonly #done = defer<void>();
  /** There is one. */
  #hasBegun = false;
  #hasEnded = false;
  /** The end mark is waited for no longer. */
  #isSilent = false;
  #isDone = false;
  #messages = 0;
  /** Something has arrived since the last request. */
  #hasNews = false;
  #askedAtMs = 0;
  #heardAtMs = 0;
  #cancelRequest: (() => void) | undefined;
  #cancelLook: (() => void) | undefined;
  /** The network knows that we listen: something came. */
  #isListening = false;
  #cancelListen: (() => void) | undefined;

  constructor(deps: CatchUpDeps) {
    this.#deps = deps;
    this.#timers = deps.timers ?? systemTimers;
    const { sock, signal } = deps;
    const isComing = () => this.#hasBegun && !this.#hasEnded && !this.#isSilent;
    this.#intake = takeInTurn(sock, { isComing, signal, onTaken: () => this.#taken() });
    // The library asks once, for 100.
    sock.ws.removeAllListeners('CB:ib,,offline_preview');
    sock.ws.on('CB:ib,,offline_preview', (node: BinaryNode) => this.#announced(node));
    for (const tag of MARKED) sock.ws.on(`CB:${tag},offline`, () => this.#came());
    sock.ws.on('CB:ib,,offline', () => this.#ended());
    for (const tag of ['message', 'receipt']) sock.ws.once(`CB:${tag}`, () => this.#listens());
    sock.ws.once('CB:success', () => {
      this.#watchSilence();
      this.#listenAgain(LISTEN_AGAIN_MS);
    });
    signal.addEventListener('abort', () => this.#stop(), { once: true });
  }

  /** Resolves when the backlog is over; never if the session ends first. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** The network's end mark may still come when silence has ended the wait for it. */
  get state(): BacklogState {
    if (!this.#isDone) return 'coming';
    return this.#hasEnded ? 'heard' : 'noEndMark';
  }

  /**
   * The library says once that it listens, and goes on as if it did where the network refused that, or a query before it. Nothing is
   * delivered to such a session, no STOP and no receipt.
   */
  #listenAgain(inMs: number): void {
    if (this.#isListening) return;
    this.#cancelListen = this.#timers.after(inMs, () => {
      const { sock, logger } = this.#deps;
      // On a network that ends no empty backlog a quiet device says it again and again.
      const level = inMs === LISTEN_AGAIN_MS ? 'warn' : 'debug';
      logger[level]('nothing has come since the login: telling the network again that this device listens');
      const attrs = { id: sock.generateMessageTag(), to: S_WHATSAPP_NET, xmlns: 'passive', type: 'set' };
      sock.sendNode({ tag: 'iq', attrs, content: [{ tag: 'active', attrs: {} }] }).catch(() => {});
      this.#listenAgain(Math.min(2 * inMs, LISTEN_AGAIN_MOST_MS));
    });
  }

  #listens(): void {
    this.#isListening = true;
    this.#cancelListen?.();
  }

  #announced(node: BinaryNode): void {
    this.#listens();
    if (getBinaryNodeChild(node, 'offline_preview')?.attrs.count === '0') return;
    this.#heard();
    this.#hasBegun = true;
    this.#hasNews = true;
    this.#ask();
  }

  #came(): void {
    this.#heard();
    this.#hasBegun = true;
    this.#hasNews = true;
    if (!this.#hasEnded) this.#cancelRequest ??= this.#timers.after(BETWEEN_BATCHES_MS, () => this.#ask());
  }

  /** Asks for the next batch when it is time, until the end. */
  #ask(): void {
    this.#cancelRequest?.();
    if (this.#hasEnded || this.#deps.signal.aborted) return;
    this.#cancelRequest = undefined;
    // After a long silence only new stanzas start it again.
    if (this.#isDone && !this.#hasNews) return;
    const nowMs = this.#timers.nowMs();
    const isDue = this.#hasNews || nowMs - this.#askedAtMs >= ASK_AGAIN_MS;
    if (isDue && this.#intake.backlog < BATCH) {
      this.#hasNews = false;
      this.#askedAtMs = nowMs;
      const request: BinaryNode = { tag: 'offline_batch', attrs: { count: String(BATCH) } };
      this.#deps.sock.sendNode({ tag: 'ib', attrs: {}, content: [request] }).catch(() => {});
    }
    this.#cancelRequest = this.#timers.after(BETWEEN_BATCHES_MS, () => this.#ask());
  }

  #taken(): void {
    this.#messages += 1;
    this.#heard();
    this.#settle();
  }

  #heard(): void {
    this.#listens();
    this.#heardAtMs = this.#timers.nowMs();
  }

  #ended(): void {
    this.#listens();
    this.#hasEnded = true;
    this.#cancelRequest?.();
    this.#intake.release();
    this.#settle();
  }

  #settle(): void {
    if ((this.#hasEnded || this.#isSilent) && this.#intake.backlog === 0) this.#finish();
  }

  #watchSilence(): void {
    const { quietMs = QUIET_MS, logger } = this.#deps;
    this.#heardAtMs = this.#timers.nowMs();
    const look = () => {
      const restMs = this.#heardAtMs + quietMs - this.#timers.nowMs();
      if (restMs > 0) {
        this.#cancelLook = this.#timers.after(restMs, look);
        return;
      }
      // A STOP may be among what waited: that is handled first.
      const isFirst = !this.#isSilent && this.#intake.backlog === 0;
      this.#isSilent = true;
      this.#intake.release();
      if (isFirst && this.#intake.backlog > 0) {
        this.#heardAtMs = this.#timers.nowMs();
        return look();
      }
      logger.warn('the network sent no end mark for the backlog');
      this.#finish();
    };
    if (!this.#hasEnded || this.#intake.backlog > 0) look();
  }

  #finish(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    if (this.#messages > 0)
      this.#deps.logger.info('backlog of incoming messages processed', { messages: this.#messages });
    this.#cancelLook?.();
    if (!this.#deps.signal.aborted) this.#done.resolve();
  }

  #stop(): void {
    this.#listens();
    this.#hasEnded = true;
    this.#cancelRequest?.();
    this.#cancelLook?.();
  }
}

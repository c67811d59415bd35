import type { Duplex } from 'node:stream';
import { type BinaryNode, proto } from '@whiskeysockets/baileys';
import type { WebSocket } from 'ws';
import type { ServerCredentials } from './certificates.js';
import { decodeNode } from './decode-node.js';
import { encodeForNow, encodeNode } from './encode-node.js';
import { FrameReader, frameOf, joinSealed, UnknownProtocolError } from './frames.js';
import { type ClientIdentity, NoiseResponder, type Sealed, type Transport } from './noise-responder.js';

/** Of WebSockets. */
const PROTOCOL_ERROR = 1002;
/** Of a message with several stanzas, about. */
const MESSAGE_BYTES = 16 * 1024;

export interface WireEvents {
  /** The handshake is done: who the client says it is. */
  onIdentity(staticKey: Buffer, payload: proto.ClientPayload): void;
  /** One stanza, in the order of arrival. */
  onNode(node: BinaryNode): void;
  onClose(): void;
  /** Something did not decrypt, parse or pass: the connection is cut for it. */
  onBroken(error: unknown): void;
  /** Every stanza in both directions, for the trace. */
  onTrace?(direction: 'in' | 'out', node: BinaryNode): void;
}

/** The line between server and client: a delay, and where it is narrow, what passes in a second. */
export interface Travel {
  readonly delayMs: number;
  readonly bytesPerSecond?: number | undefined;
}

/** A line that takes no time. */
export const NEARBY: Travel = { delayMs: 0 };

export interface WireOptions {
  readonly credentials: ServerCredentials;
  /** What the WebSocket runs on: stanzas are written to it in one piece, past the two or three that `ws` would make. */
  readonly stream: Duplex;
  /** How what is sent now travels. */
  travel(): Travel;
}

/**
 * One client connection: `hello` -> `finish` -> `open` -> `closing` -> `closed`. Malformed input cuts it, as the real
 * server does. While it is closing what still arrives is read (and counted by the owner), nothing more is sent.
 * Stanzas leave in the order of `send`, however the delay changes meanwhile: each is due no earlier than the one before.
 */
export class WireConnection {
  readonly #socket: WebSocket;
  readonly #options: WireOptions;
  readonly #events: WireEvents;
  readonly #reader = new FrameReader();
  readonly #responder: NoiseResponder;
  readonly #timers = new Set<NodeJS.Timeout>();
  #state: 'hello' | 'finish' | 'open' | 'closing' | 'closed' = 'hello';
  #isBroken = false;
  #transport: Transport | undefined;
  #lastDueMs = 0;
  #lineFreeMs = 0;
  #outgoing: Sealed[] = [];
  #outgoingBytes = 0;
  #isLeaving = false;

  constructor(socket: WebSocket, options: WireOptions, events: WireEvents) {
    this.#socket = socket;
    this.#options = options;
    this.#events = events;
    this.#responder = new NoiseResponder(options.credentials);
    socket.on('message', (data) => this.#receive(data as Buffer));
    socket.on('error', () => this.close());
    socket.on('close', () => this.#end());
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  send(stanza: BinaryNode): void {
    if (this.#state !== 'open') return;
    this.#events.onTrace?.('out', stanza);
    const travel = this.#options.travel();
    // Most lines are neither long nor narrow.
    if (travel === NEARBY && this.#lastDueMs === 0) return this.#put(encodeForNow(stanza));
    const bytes = encodeNode(stanza);
    this.#later(() => this.#put(bytes), travel, bytes.length);
  }

  /** Closes after what was sent before has left. Safe to repeat. */
  close(): void {
    if (this.#state === 'closed' || this.#state === 'closing') return;
    this.#state = 'closing';
    const hangUp = () => {
      this.#flush();
      this.#socket.close();
    };
    this.#later(hangUp, this.#options.travel());
  }

  /** Cuts the connection now: nothing more leaves. Safe to repeat. */
  cut(): void {
    this.#socket.terminate();
    this.#end();
  }

  /** Stanzas of one turn of the event loop leave together: one message, one system call; a flood of them as several. */
  #put(bytes: Buffer): void {
    if (!this.#transport) return;
    if (this.#outgoing.length === 0 && !this.#isLeaving) {
      this.#isLeaving = true;
      setImmediate(() => {
        this.#isLeaving = false;
        this.#flush();
      });
    }
    this.#outgoing.push(this.#transport.seal(bytes));
    this.#outgoingBytes += bytes.length;
    if (this.#outgoingBytes >= MESSAGE_BYTES) this.#flush();
  }

  #flush(): void {
    if (this.#outgoing.length === 0) return;
    const sealed = this.#outgoing;
    this.#outgoing = [];
    this.#outgoingBytes = 0;
    if (this.#socket.readyState === this.#socket.OPEN) this.#options.stream.write(joinSealed(sealed));
  }

  #later(step: () => void, { delayMs, bytesPerSecond }: Travel, bytes = 0): void {
    const now = Date.now();
    if (bytesPerSecond) this.#lineFreeMs = Math.max(now, this.#lineFreeMs) + (bytes / bytesPerSecond) * 1000;
    const due = Math.max(now + delayMs, this.#lineFreeMs + delayMs, this.#lastDueMs);
    if (due <= now) return step();
    this.#lastDueMs = due;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      step();
    }, due - now);
    this.#timers.add(timer);
  }

  #receive(data: Buffer): void {
    if (this.#isBroken) return;
    try {
      for (const frame of this.#reader.push(data)) this.#handleFrame(frame);
    } catch (error) {
      this.#isBroken = true;
      this.#events.onBroken(error);
      if (error instanceof UnknownProtocolError) this.#socket.close(PROTOCOL_ERROR, error.message);
      else this.cut();
    }
  }

  #handleFrame(frame: Buffer): void {
    if (this.#transport) {
      const stanza = decodeNode(this.#transport.open(frame));
      this.#events.onTrace?.('in', stanza);
      return this.#events.onNode(stanza);
    }
    if (this.#state !== 'hello' && this.#state !== 'finish') return;
    const message = proto.HandshakeMessage.decode(frame);
    if (this.#state === 'hello') this.#answerHello(message);
    else this.#finish(message);
  }

  #answerHello(message: proto.HandshakeMessage): void {
    const { ephemeral, static: sealedStatic, payload } = message.clientHello ?? {};
    if (ephemeral?.length !== 32) throw new Error('client hello without an ephemeral key');
    const { hello, client } = this.#responder.answerHello({ ephemeral, static: sealedStatic, payload });
    this.#state = 'finish';
    const bytes = frameOf(proto.HandshakeMessage.encode({ serverHello: hello }).finish());
    this.#later(() => this.#socket.send(bytes), this.#options.travel());
    if (client) this.#welcome(client);
  }

  #finish(message: proto.HandshakeMessage): void {
    const finish = message.clientFinish;
    if (!finish?.static || !finish.payload) throw new Error('client finish is incomplete');
    this.#welcome(this.#responder.finish(finish.static, finish.payload));
  }

  #welcome(client: ClientIdentity): void {
    this.#transport = client.transport;
    this.#state = 'open';
    this.#events.onIdentity(client.staticKey, proto.ClientPayload.decode(client.payload));
  }

  #end(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#events.onClose();
  }
}

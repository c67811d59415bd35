import type { BaileysSocket } from '../socket/baileys.js';
import { MAX_FRAME_BYTES } from './bound-inflate.js';
import { FrameTooLargeError } from './frame-too-large.js';
import { isTurnOver, nextTurn } from './turns.js';

/** The library's WebSocket client keeps the socket itself in a field that it calls protected, and `ws` its limits. */
interface RawSocket {
  pause(): void;
  resume(): void;
  once(event: 'open', listener: () => void): void;
  on(event: 'error' | 'close', listener: Listener): void;
  listeners(event: 'error' | 'close'): Listener[];
  removeAllListeners(event: 'error' | 'close'): void;
  _receiver: { _maxPayload: number };
  _extensions: Record<string, { _maxPayload: number }>;
}
type Listener = (...args: unknown[]) => void;

/**
 * Of a WebSocket message, which may hold many frames and is in memory as a whole. The network's are mostly one frame, and of
 * a backlog some 16 kB. `ws` would take 100 MiB.
 */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Before each frame: its length. */
const HEADER_BYTES = 3;

/**
 * Gives the library one frame at a time: those of all connections of this process share the turns of the event loop, and
 * none is decoded before the one in front of it was inflated. The library would take all frames of a message in one turn:
 * two megabytes of receipts hold up all other devices for 250 ms, and a message of tens of megabytes for seconds.
 * A frame or message that is too large ends the session as `frameTooLarge`.
 */
export function readFrames(sock: BaileysSocket): void {
  const raw = (sock.ws as unknown as { socket: RawSocket }).socket;
  raw.once('open', () => boundMessages(raw));
  const [deliver] = sock.ws.listeners('message') as ((frame: Buffer) => Promise<void>)[];
  const frames = new FrameQueue(raw, async (frame) => {
    // The library stops to listen when it has ended.
    if (sock.ws.listenerCount('message') > 0) await deliver!(frame);
  });
  sock.ws.removeAllListeners('message');
  // A rejection ends the session (see ../socket/make-socket.ts).
  sock.ws.on('message', (bytes: Buffer) => frames.add(bytes));
  // The reason for an end is in the frames before it.
  for (const event of ['error', 'close'] as const) {
    const before = raw.listeners(event);
    raw.removeAllListeners(event);
    raw.on(event, (...args) => frames.afterThem(() => before.forEach((listener) => void listener(...args))));
  }
}

function boundMessages({ _receiver, _extensions }: RawSocket): void {
  for (const reader of [_receiver, ...Object.values(_extensions)]) reader._maxPayload = MAX_MESSAGE_BYTES;
}

/** The bytes of one connection that were not delivered yet. */
class FrameQueue {
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer[] = [];
  #length = 0;
  #isDelivering = false;
  #delivery = Promise.resolve();

  constructor(
    private readonly raw: RawSocket,
    private readonly deliver: (frame: Buffer) => Promise<void>,
  ) {}

  /** Resolves when all frames were delivered; rejects when one of them cannot be read. */
  async add(bytes: Buffer): Promise<void> {
    this.#tail.push(bytes);
    this.#length += bytes.length;
    if (this.#isDelivering) return;
    this.#delivery = this.#deliverAll();
    await this.#delivery;
  }

  afterThem(work: () => void): void {
    if (this.#isDelivering) this.#delivery.then(work, work);
    else work();
  }

  async #deliverAll(): Promise<void> {
    let isPaused = false;
    this.#isDelivering = true;
    try {
      for (let frame = this.#take(); frame; frame = this.#take()) {
        if (isTurnOver()) {
          if (!isPaused) this.raw.pause();
          isPaused = true;
          await nextTurn();
        }
        await this.deliver(frame);
      }
    } finally {
      this.#isDelivering = false;
      if (isPaused) this.raw.resume();
    }
  }

  /** With its header, as the library reads it. */
  #take(): Buffer | undefined {
    if (this.#length < HEADER_BYTES) return undefined;
    const size = HEADER_BYTES + this.#join(HEADER_BYTES).readUIntBE(0, HEADER_BYTES);
    if (size > MAX_FRAME_BYTES) throw new FrameTooLargeError(size);
    if (this.#length < size) return undefined;
    const frame = this.#join(size).subarray(0, size);
    this.#head = this.#head.subarray(size);
    this.#length -= size;
    return frame;
  }

  #join(size: number): Buffer {
    if (this.#head.length < size) this.#head = Buffer.concat([this.#head, ...this.#tail.splice(0)]);
    return this.#head;
  }
}

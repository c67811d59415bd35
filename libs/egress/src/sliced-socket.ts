import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { ReadTurns } from './read-turns.js';

const SLICE_BYTES = 8 * 1024;
/** Of this process. */
const TURNS = new ReadTurns();

/** A socket whose bytes come in slices, each in its turn (`ReadTurns`), and as long as `onBytes` does not throw. */
export class SlicedSocket extends Duplex {
  readonly #socket: Socket;
  readonly #onBytes: (bytes: number) => void;
  #isAsked = false;
  /** As of any socket. */
  bytesRead = 0;

  /** @param onBytes is told of each slice before it is passed on. What it throws ends the connection. */
  constructor(socket: Socket, onBytes: (bytes: number) => void) {
    super({ allowHalfOpen: false, readableHighWaterMark: SLICE_BYTES });
    this.#socket = socket;
    this.#onBytes = onBytes;
    socket.on('readable', () => void (this.#isAsked && TURNS.add(this.#readSlice)));
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    // After its end there may be something left to read here.
    socket.on('close', () => void (socket.readableEnded || this.destroy()));
  }

  override _read(): void {
    this.#isAsked = true;
    // Also when nothing is there: of its end a socket tells only one who asks for more.
    TURNS.add(this.#readSlice);
  }

  readonly #readSlice = (): void => {
    const slice: Buffer | null = this.#socket.read(Math.min(SLICE_BYTES, this.#socket.readableLength) || undefined);
    if (!slice) return;
    this.#isAsked = false;
    try {
      this.bytesRead += slice.length;
      this.#onBytes(slice.length);
      this.push(slice);
    } catch (thrown) {
      this.destroy(thrown as Error);
    }
  };

  override _write(piece: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(piece, encoding, done);
  }

  override _final(done: () => void): void {
    if (this.#socket.writable) this.#socket.end(done);
    else done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    TURNS.remove(this.#readSlice);
    this.#socket.destroy();
    done(error);
  }
}

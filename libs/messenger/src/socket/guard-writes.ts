import { toError } from '@gateway/runtime/errors';
import { AsyncValue } from '@gateway/runtime/process/async-value';
import type { BaileysSocket } from './baileys.js';

/** The library's WebSocket client keeps the socket itself in a field that it calls protected. */
interface RawSocket {
  readonly readyState: number;
  /** The WebSocket that frames are written to, once connected. */
  readonly _socket?: { readonly writableCorked: number; cork(): void; uncork(): void };
  send(data: string | Uint8Array, done?: (error?: Error) => void): void;
  close(): void;
  terminate(): void;
  once(event: 'close', listener: () => void): void;
}

export interface WriteGuard {
  /** Runs `work`; `written()` says whether a frame of it has gone out, during the work or after it was abandoned. */
  track<Result>(work: () => Promise<Result>): { result: Promise<Result>; written(): boolean };
}

export interface WriteGuardDeps {
  /** Called right before each frame of any kind; throws when nothing may be sent any more. */
  assertMayWrite(): void;
  /** Called with the error of `assertMayWrite`. */
  onRefused(error: Error): void;
}

const CLOSED = 3;
/** How long a server may take to close the connection. The library would wait half a minute. */
const CLOSE_GRACE_MS = 500;

const tracked = new AsyncValue<{ raw: RawSocket; frames: number }>();

/**
 * Puts a gate right in front of the socket, behind everything the library does on its own: acks, receipts, retries.
 * A refused frame has already used up a counter of the cipher, so the connection is lost with it: `onRefused` must end it.
 */
export function guardWrites(sock: BaileysSocket, { assertMayWrite, onRefused }: WriteGuardDeps): WriteGuard {
  const raw = (sock.ws as unknown as { socket: RawSocket }).socket;
  const send = raw.send.bind(raw);
  raw.send = (data, done) => {
    const now = tracked.get();
    const tally = now?.raw === raw ? now : undefined;
    try {
      assertMayWrite();
    } catch (thrown) {
      onRefused(toError(thrown));
      // Untracked frames belong to handlers of the library that leave a rejection to the process. They learn of the end.
      done?.(tally && toError(thrown));
      return;
    }
    if (tally) tally.frames += 1;
    writeTogether(raw);
    send(data, done);
  };
  sock.ws.close = () => closeSocket(raw);

  return {
    track(work) {
      const tally = { raw, frames: 0 };
      return { result: tracked.run(tally, work), written: () => tally.frames > 0 };
    },
  };
}

/** The frames of one turn of the event loop, such as the acks of receipts that were stored together, are written in one system call. */
function writeTogether({ _socket: socket }: RawSocket): void {
  if (!socket || socket.writableCorked > 0) return;
  socket.cork();
  setImmediate(() => socket.uncork());
}

async function closeSocket(raw: RawSocket): Promise<void> {
  if (raw.readyState === CLOSED) return;
  const closed = new Promise<void>((resolve) => raw.once('close', resolve));
  const timer = setTimeout(() => raw.terminate(), CLOSE_GRACE_MS);
  raw.close();
  await closed;
  clearTimeout(timer);
}

import { toError } from '@gateway/runtime/errors';
import { AsyncValue } from '@gateway/runtime/process/async-value';
import type { BaileysSocket } from './baileys.js';

/** The library's WebSocket client keeps the socket itself in a field that it calls protected. */
interface RawSocket {
  readonly readyState: number;
  /** The WebSocket that frames are written to, once connected. */
  readonly _socket?: {
    readonly writableCorked: number;
    readonly writableNeedDrain: boolean;
    cork(): void;
    uncork(): void;
  };
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
  /** Called right before the frames of a turn leave; throws when the device is another's by now. */
  assertHeld(): void;
  /** Called with the error of either. */
  onRefused(error: Error): void;
}

const OPEN = 1;
const CLOSED = 3;
/** How long a server may take to close the connection. The library would wait half a minute. */
const CLOSE_GRACE_MS = 500;

const tracked = new AsyncValue<{ raw: RawSocket; frames: number }>();

/**
 * Puts a gate right in front of the socket, behind everything the library does on its own: acks, receipts, retries.
 * A refused frame has already used up a counter of the cipher, so the connection is lost with it: `onRefused` must end it.
 */
export function guardWrites(
  sock: BaileysSocket,
  { assertMayWrite, assertHeld, onRefused }: WriteGuardDeps,
): WriteGuard {
  const raw = (sock.ws as unknown as { socket: RawSocket }).socket;
  const send = raw.send.bind(raw);
  const refuse = (check: () => void) => {
    try {
      check();
      return undefined;
    } catch (thrown) {
      const refusal = toError(thrown);
      onRefused(refusal);
      return refusal;
    }
  };
  raw.send = (data, done) => {
    const now = tracked.get();
    const tally = now?.raw === raw ? now : undefined;
    const refusal = refuse(assertMayWrite);
    // Untracked frames belong to handlers of the library that leave a rejection to the process. They learn of the end.
    if (refusal) return done?.(tally && refusal);
    if (tally) tally.frames += 1;
    writeTogether(raw, () => refuse(assertHeld) === undefined);
    if (!isFlowing(raw)) return send(data, done);
    send(data);
    done?.();
  };
  sock.ws.close = () => closeSocket(raw);

  return {
    track(work) {
      const tally = { raw, frames: 0 };
      return { result: tracked.run(tally, work), written: () => tally.frames > 0 };
    },
  };
}

/**
 * Whether what is written leaves at the end of this turn. The library encrypts the next message when the last one is written: it
 * need not wait for that, so messages of one turn leave together. That a frame has left says nothing of its arrival.
 */
function isFlowing({ readyState, _socket: socket }: RawSocket): boolean {
  return readyState === OPEN && socket !== undefined && !socket.writableNeedDrain;
}

/**
 * The frames of one turn of the event loop, such as the acks of receipts that were stored together, are written in one system call.
 * @param isHeld asked before that: the process may have been frozen in that turn.
 */
function writeTogether(raw: RawSocket, isHeld: () => boolean): void {
  const { _socket: socket } = raw;
  if (!socket || socket.writableCorked > 0) return;
  socket.cork();
  setImmediate(() => {
    if (isHeld()) socket.uncork();
    else raw.terminate();
  });
}

async function closeSocket(raw: RawSocket): Promise<void> {
  if (raw.readyState === CLOSED) return;
  const closed = new Promise<void>((resolve) => raw.once('close', resolve));
  const timer = setTimeout(() => raw.terminate(), CLOSE_GRACE_MS);
  raw.close();
  await closed;
  clearTimeout(timer);
}

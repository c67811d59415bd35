import type { BaileysSocket } from './baileys.js';

/** The library's WebSocket client keeps the socket itself in a field that it calls protected. */
interface RawSocket {
  pause(): void;
  resume(): void;
  prependListener(event: 'message', listener: () => void): void;
}

/** Of a turn of the event loop, for the frames of all connections of this process. */
const TURN_MS = 10;

let turnBeganMs: number | undefined;
const paused = new Set<RawSocket>();

/**
 * Takes frames for some time of a turn of the event loop, and the rest in the next ones. One look at a socket may bring two
 * megabytes, which are thousands of receipts: to decrypt and read them in one go holds up all other devices for 250 ms.
 */
export function readInTurns(sock: BaileysSocket): void {
  const raw = (sock.ws as unknown as { socket: RawSocket }).socket;
  raw.prependListener('message', () => {
    const nowMs = performance.now();
    if (turnBeganMs === undefined) {
      turnBeganMs = nowMs;
      setImmediate(beginTurn);
    } else if (nowMs - turnBeganMs > TURN_MS && !paused.has(raw)) {
      paused.add(raw);
      raw.pause();
    }
  });
}

function beginTurn(): void {
  turnBeganMs = undefined;
  for (const raw of paused) raw.resume();
  paused.clear();
}

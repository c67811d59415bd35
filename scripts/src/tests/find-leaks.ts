import { Socket } from 'node:net';
import { countFailure } from './counting-reporter.js';

/** Long enough for connections that are about to close, on a machine that has other work. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 250;

/**
 * Ends a test run that does not end by itself, after all that was started for the whole run has been stopped, however long that took:
 * mocha does it in the order in which it was told of them. Servers, connections and processes that tests left behind make it a
 * failure; timers do not: Baileys leaves those of requests that were answered running for a minute.
 * @public mocha loads it by its path.
 */
export function mochaGlobalTeardown(): void {
  const deadline = performance.now() + PATIENCE_MS;
  const look = () => {
    const leaks = process.getActiveResourcesInfo().filter(isLeak);
    if (leaks.length === 0 || performance.now() > deadline) endRun(leaks);
  };
  setInterval(look, LOOK_MS).unref();
}

/** Pipes are our own: the terminal's, and the channel to the launcher. */
function isLeak(resource: string): boolean {
  return !['Timeout', 'Immediate', 'PipeWrap', 'TTYWrap'].includes(resource);
}

/** Where the sockets lead that are still there: Node itself names only their kind. */
function describeSockets(): string[] {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles?: () => unknown[] };
  const sockets = (handles?.call(process) ?? []).filter((handle) => handle instanceof Socket && handle.remotePort);
  return (sockets as Socket[]).map(
    (socket) => `port ${socket.localPort} to ${socket.remoteAddress}:${socket.remotePort}`,
  );
}

function endRun(leaks: string[]): void {
  if (leaks.length > 0) {
    const failure = `the tests left behind: ${[...leaks, ...describeSockets()].join(', ')}`;
    console.error(failure);
    countFailure(failure);
    // Mocha sets the exit code last of all, to the number of failures: this comes after it.
    process.on('exit', () => {
      process.exitCode = 1;
    });
  }
  process.exit();
}

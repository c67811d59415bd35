import { Socket } from 'node:net';

/** Long enough for connections that are about to close. */
const PATIENCE_MS = 3_000;

/**
 * Ends a test run that does not end by itself. Servers, connections and processes that tests left behind make it a
 * failure; timers do not: Baileys leaves those of requests that were answered running for a minute.
 * @public mocha loads it by its path.
 */
export const mochaHooks = {
  afterAll() {
    setTimeout(() => endRun(process.getActiveResourcesInfo().filter(isLeak)), PATIENCE_MS).unref();
  },
};

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
    console.error(`The tests left behind: ${[...leaks, ...describeSockets()].join(', ')}`);
    // Mocha sets the exit code last of all, to the number of failures: this comes after it.
    process.on('exit', () => {
      process.exitCode = 1;
    });
  }
  process.exit();
}

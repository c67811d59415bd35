import type { IncomingMessage } from 'node:http';

/**
 * Lets what is left of a body that was refused through to nowhere, so that its caller gets the answer; to no parser
 * either: each tiny chunk costs one as much as a large one, for as long as its caller may go on sending.
 */
export function dropRest({ socket }: IncomingMessage): void {
  // Not while the parser is in the middle of what has come.
  setImmediate(() => {
    socket.removeAllListeners('data');
    // A listener takes a socket away from the parser, which had it to itself.
    socket.on('data', () => {});
    socket.resume();
  });
}

import type { Redis } from 'ioredis';

/** How ioredis says that a node has gone: a client of a Cluster then looks for the next one. */
export const GONE = 'Connection is closed.';

/**
 * Has commands wait while Redis refuses a connection, as they do while it cannot be reached: its password is being changed, or the
 * next master lacks the user. ioredis tries again, but rejects all that waits with that refusal. So do
 * copies of it, as BullMQ makes of its own.
 */
export function waitOutRefusals(client: Redis): Redis {
  const recover = client.recoverFromFatalError.bind(client);
  const duplicate = client.duplicate.bind(client);
  return Object.assign(client, {
    recoverFromFatalError: (...[refusal, error, options]: Parameters<typeof recover>) =>
      recover(refusal, error, { offlineQueue: false, ...options }),
    duplicate: (...override: Parameters<typeof duplicate>) => waitOutRefusals(duplicate(...override)),
  });
}

/** The same of a node of a Cluster: what waits for that one goes on as if it had gone. */
export function leaveWhenRefused(node: Redis): void {
  const recover = node.recoverFromFatalError.bind(node);
  const { flushQueue } = node as unknown as { flushQueue(error: Error, options: { commandQueue: boolean }): void };
  Object.assign(node, {
    recoverFromFatalError: (...[refusal, error, options]: Parameters<typeof recover>) => {
      flushQueue.call(node, new Error(GONE), { commandQueue: false });
      recover(refusal, error, options);
    },
  });
}

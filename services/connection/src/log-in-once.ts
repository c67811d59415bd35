import { defer } from '@gateway/runtime/deferred';
import { type DeviceTask, openSessionUntil, type TaskEnd } from './device-task.js';

/** To be let in. */
export const LOG_IN_MS = 6_000;

/**
 * One login with the keys that are there, closed as soon as the network has let us in: `undefined` then. What it says of
 * messages is left with it for the sender that comes.
 */
export async function logInOnce(task: DeviceTask): Promise<TaskEnd | undefined> {
  const opened = defer<undefined>();
  const { session, closed } = await openSessionUntil(task.signal, task, {
    on: { open: () => opened.resolve(undefined), receipt: () => new Promise(() => {}) },
    openTimeoutMs: LOG_IN_MS,
  });
  const end = await Promise.race([opened.promise, closed]);
  await session.close();
  return end;
}

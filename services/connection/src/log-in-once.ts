import { defer } from '@gateway/runtime/deferred';
import { type DeviceTask, openSessionUntil, type TaskEnd } from './device-task.js';

/** To be let in. */
export const LOG_IN_MS = 6_000;

/**
 * One login with the existing keys, closed as soon as it succeeds: `undefined` then. Messages and
 * receipts are not confirmed, so that the next sender gets them.
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

import { sleep } from '@gateway/runtime/clock';
import { FencedError } from '@gateway/runtime/errors';
import { noteEnded, noteLasted, noteStart, readStarts } from '@gateway/store/fleet/count-starts';
import { startPauseMs } from '@gateway/store/fleet/start-pause';
import { type DeviceTask, observe } from './device-task.js';

/**
 * Does nothing for as long as a device should rest whose owners failed one after the other, of whichever service: a
 * message that ends the process that reads it must not end all of them in turn, with what they hold and link.
 */
export async function backOff(task: DeviceTask, letGo: AbortSignal): Promise<void> {
  const { store, lease, clock, logger } = task;
  const failed = await readStarts(store, lease.address);
  const ms = startPauseMs(failed);
  if (ms === 0) return;
  logger.error('owners of the device failed one after the other, the next attempt waits', { failed });
  const notBeforeMs = Math.ceil(clock.nowMs() + ms);
  await observe(task, { status: 'connecting', reason: 'owner_failing', notBeforeMs });
  await sleep(ms, letGo).catch(() => {});
}

/** Redis counts this ownership with those of senders, until it has lasted, or ended as it should. */
export async function underCount(task: DeviceTask, work: () => Promise<void>): Promise<void> {
  const { store, lease, lastedMs } = task;
  await noteStart(store, lease);
  const lasted = setTimeout(() => void noteLasted(store, lease).catch(() => {}), lastedMs);
  let failed = true;
  try {
    await work();
    failed = task.hasFailed();
  } catch (thrown) {
    failed = !(thrown instanceof FencedError);
    throw thrown;
  } finally {
    clearTimeout(lasted);
    // Not waited for: Redis may be away, which is no fault of the device.
    if (!failed) void noteEnded(store, lease).catch(() => {});
  }
}

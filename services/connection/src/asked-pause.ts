import { askedPauseEndMs, type Reason } from '@gateway/contracts/devices/device-state';
import { sleep } from '@gateway/runtime/clock';
import { readDeviceState } from '@gateway/store/devices/device-state';
import type { DeviceTask } from './device-task.js';

/** A user waits for the answer. */
const LONGEST_WAIT_MS = 3_000;

/** Why no socket is opened for a device, and until when. */
export interface AskedPause {
  reason: Reason;
  notBeforeMs: number;
}

/**
 * The pause that the network has asked of this device, through either service. If it is about to end, waits for the end;
 * `undefined` if there is none, or it is over.
 */
export async function waitOutPause({ store, ownership, clock, signal }: DeviceTask): Promise<AskedPause | undefined> {
  const { observed } = await readDeviceState(store, ownership.address);
  const notBeforeMs = askedPauseEndMs(observed);
  const restMs = notBeforeMs - clock.nowMs();
  if (!observed?.reason || restMs <= 0) return undefined;
  if (restMs > LONGEST_WAIT_MS) return { reason: observed.reason, notBeforeMs };
  await sleep(restMs, signal).catch(() => {});
  return undefined;
}

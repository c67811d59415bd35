import type { Reason } from '@gateway/contracts/devices/device-state';
import { disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import type { TaskEnd } from './device-task.js';

/**
 * The public reason for the end of a single attempt. Nothing follows automatically, as `network` and `restart` would
 * promise: the user asks again.
 */
export function reasonOfAttempt(end: TaskEnd, nowMs: number): Reason {
  const { reason } = disconnectPolicy(end, nowMs);
  return reason === 'network' || reason === 'restart' ? 'link_timeout' : reason;
}

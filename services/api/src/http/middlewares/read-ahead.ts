import type { DeviceStates } from '../../devices/device-states.js';
import { localsOf } from '../request-locals.js';
import type { Step } from './step.js';

/**
 * Asks for the state of the token's device right before the limit is counted: both go to Redis in one packet. Whether
 * the answer is used is for the checks that follow.
 */
export function readAhead(states: DeviceStates): Step {
  return (_req, res) => {
    const locals = localsOf(res);
    const { workspace, device } = locals.token!;
    if (device) {
      locals.state = states.read({ workspace, device });
      // Its user gets its failure.
      locals.state.catch(() => {});
    }
  };
}

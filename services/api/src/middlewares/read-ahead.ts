import { readDeviceState } from '@gateway/store/device-state';
import type { RequestHandler } from 'express';
import type { ApiDeps } from '../api-deps.js';
import { localsOf } from '../request-locals.js';

/**
 * Asks for the state of the token's device right before the limit is counted: both go to Redis in one packet. Whether
 * the answer is used is for the checks that follow.
 */
export function readAhead({ store, workspace }: ApiDeps): RequestHandler {
  return (_req, res, next) => {
    const locals = localsOf(res);
    const device = locals.token?.device;
    if (device) {
      locals.state = readDeviceState(store, { workspace, device });
      // Whoever uses it hears of its failure.
      locals.state.catch(() => {});
    }
    next();
  };
}

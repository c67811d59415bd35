import { ApiError } from '@gateway/runtime/errors';
import { StartSlices } from '@gateway/runtime/http/start-slices';
import type { DeviceState } from '@gateway/store/devices/device-state';
import type { ApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import type { Response } from 'express';
import type { BodyAccount, BodyBudget } from './body/body-budget.js';

/** What the checks found out about a request on its way through. Fields have their places from the start: that is cheaper to write to. */
export class RequestLocals {
  readonly requestId: string;
  /** The template, for metrics and logs: `/send`, never the path as it was written. */
  route: string | undefined = undefined;
  token: ApiToken | undefined = undefined;
  /** Of an address that is told of by one line for all that it asks. */
  isQuiet: boolean | undefined = undefined;
  /** `traceparent` of what is done for it, if it is traced. */
  trace: string | undefined = undefined;
  /** It made a send, which has a line of its own in the log. */
  madeSend: boolean | undefined = undefined;
  /** Of the device that the token acts on, once asked for. */
  state: Promise<Readonly<DeviceState>> | undefined = undefined;
  /** Its JSON is large: see `inTurn`. */
  isLarge: boolean | undefined = undefined;
  /** What the request holds in memory. */
  account: BodyAccount | undefined = undefined;
  /** Aborted when its caller is gone, or the process stops; once asked for. */
  signal: AbortSignal | undefined = undefined;
  /** Called by the last of its steps. */
  endSteps: (() => void) | undefined = undefined;
  /** Of an endpoint's query and body, once validated. */
  query: unknown = undefined;
  body: unknown = undefined;
  idempotencyKey: string | undefined = undefined;

  constructor(requestId: string) {
    this.requestId = requestId;
  }
}

export function localsOf(res: Response): RequestLocals {
  return res.locals as RequestLocals;
}

/** Whether a request was answered, or has no caller any more: nothing will come that gives back what is held for it. */
export function isOver(res: Response): boolean {
  return res.closed || res.req.socket.destroyed;
}

/**
 * What a request with a token holds of the budget, from its first byte until its answer is out and the last of its steps
 * has ended: a caller who leaves does not stop the one that stores a file.
 */
export function accountOf(res: Response, budget: BodyBudget): BodyAccount {
  const locals = localsOf(res);
  if (!locals.account) {
    locals.account = budget.account(locals.token!.keyId);
    locals.endSteps = locals.account.join();
    if (!isOver(res)) res.once('close', locals.account.join());
  }
  return locals.account;
}

/** The answers of Redis to a hundred lists come at once, and what follows takes milliseconds for each. */
const STEPS = new StartSlices();

/**
 * Does what takes time for a large body in turn with the large bodies of other tokens, a slice in each turn of the event loop;
 * at once for others. Rejects when it throws.
 */
export async function inTurn<T>(res: Response, step: () => T | Promise<T>): Promise<T> {
  const { isLarge, token } = localsOf(res);
  return isLarge ? STEPS.take(token!.keyId, step) : step();
}

/** The request ended before all of it had come. */
export function endedEarly(): ApiError {
  return new ApiError('invalid_request', { details: [{ path: [], message: 'the body ended early' }] });
}

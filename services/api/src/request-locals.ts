import type { ApiToken } from '@gateway/store/api-tokens';
import type { DeviceState } from '@gateway/store/device-state';
import type { Response } from 'express';

/** What the checks found out about a request on its way through. */
export interface RequestLocals {
  requestId: string;
  /** The template, for metrics and logs: `/send`, never the path as it was written. */
  route?: string;
  token?: ApiToken;
  /** Of the device that the token acts on, once asked for. */
  state?: Promise<Readonly<DeviceState>>;
  /** Of an endpoint's query and body, once validated. */
  query?: unknown;
  body?: unknown;
  idempotencyKey?: string;
}

export function localsOf(res: Response): RequestLocals {
  return res.locals as RequestLocals;
}

import type { User } from '@gateway/store/console/users';
import type { Response } from 'express';

/** What the steps found out about a request on its way through. */
interface Locals {
  requestId: string;
  /** Of the page's Content-Security-Policy. */
  nonce: string;
  /** The template, for metrics and logs. */
  route?: string;
  user?: User;
}

export function localsOf(res: Response): Locals {
  return res.locals as Locals;
}

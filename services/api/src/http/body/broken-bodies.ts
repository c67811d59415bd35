import type { IncomingMessage } from 'node:http';
import type { ApiError } from '@gateway/runtime/errors';

/** Of a request in whose body something came that is not HTTP, too large or too late. */
export const BROKEN = 'broken';
const errors = new WeakMap<IncomingMessage, ApiError>();

/** Has the step that reads the body refuse it, with all that is known of the request by then. */
export function breakBody(req: IncomingMessage, error: ApiError): void {
  errors.set(req, error);
  req.emit(BROKEN, error);
}

export function brokenBy(req: IncomingMessage): ApiError | undefined {
  return errors.get(req);
}

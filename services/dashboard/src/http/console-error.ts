import type { ErrorDetail } from '@gateway/contracts/errors';
import { GatewayError } from '@gateway/runtime/errors';

/** Every failure that the page can see; it says them in the language of its user, by their code. */
export const CONSOLE_ERRORS = {
  invalid_request: { status: 400, message: 'Invalid request data' },
  not_signed_in: { status: 401, message: 'Not signed in' },
  wrong_credentials: { status: 401, message: 'Wrong name or password' },
  link_used_up: { status: 401, message: 'The link was used, or is older than ten minutes' },
  not_allowed: { status: 403, message: 'Not allowed for this user' },
  foreign_request: { status: 403, message: 'Not asked for by the console itself' },
  plain_http: { status: 403, message: 'The console is not served under this name: see DASHBOARD_URL' },
  not_oneself: { status: 403, message: 'Not for the one who asks: another admin does it' },
  simulated_phone_refused: { status: 409, message: 'The simulated phone did not take the code' },
  unpaced: { status: 400, message: 'A pace without a limit is for simulated networks alone' },
  device_linked: { status: 409, message: 'An account is linked to the device' },
  device_sending: { status: 409, message: 'Messages wait on the device' },
  name_taken: { status: 409, message: 'There is a user of that name' },
  not_found: { status: 404, message: 'Not found' },
  unsupported_media_type: { status: 415, message: 'Unsupported media type' },
  rate_limited: { status: 429, message: 'Too many attempts' },
  internal: { status: 500, message: 'Internal server error' },
  unavailable: { status: 503, message: 'Service unavailable' },
  api_away: { status: 503, message: 'The API does not answer' },
} as const;

export type ConsoleErrorCode = keyof typeof CONSOLE_ERRORS;

interface ConsoleErrorOptions {
  details?: ErrorDetail[];
  /** Seconds until it may be tried again: `resetIn` in the body, and `Retry-After`. */
  resetInSeconds?: number;
  cause?: unknown;
}

/** A failure that the user gets to see. */
export class ConsoleError extends GatewayError {
  readonly status: number;
  readonly details: ErrorDetail[] | undefined;
  readonly resetInSeconds: number | undefined;

  constructor(code: ConsoleErrorCode, { details, resetInSeconds, cause }: ConsoleErrorOptions = {}) {
    const { status, message } = CONSOLE_ERRORS[code];
    super({ code, message, publicMessage: message, cause });
    this.status = status;
    this.details = details;
    this.resetInSeconds = resetInSeconds;
  }
}

import { API_ERRORS, type ApiErrorCode, type ErrorDetail } from '@gateway/contracts/errors';

export interface GatewayErrorOptions {
  /** Stable, for programs: `snake_case`. */
  code: string;
  /** For logs. */
  message: string;
  /** The public message. Without it a caller sees `Internal server error`. */
  publicMessage?: string;
  /** Facts for the log line, never for the caller. */
  fields?: Record<string, unknown>;
  cause?: unknown;
}

/** Every failure that we foresee. Has one message for the log and another for the public. */
export class GatewayError extends Error {
  readonly code: string;
  readonly publicMessage: string;
  readonly fields: Record<string, unknown>;

  constructor({ code, message, publicMessage, fields, cause }: GatewayErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.publicMessage = publicMessage ?? API_ERRORS.internal.message;
    this.fields = fields ?? {};
  }
}

export interface ApiErrorOptions {
  details?: ErrorDetail[];
  /** Response headers that go with it, such as `Retry-After`. */
  headers?: Record<string, string>;
  /** Seconds until the caller may try again: `resetIn` in the body. Only with `rate_limited`. */
  resetInSeconds?: number;
  /** Why, for programs: `reason` in the body. Only with `passkey_required`. */
  reason?: string;
  /** Where to go on, in the body. Only with `events_gone`. */
  oldestCursor?: string;
  fields?: Record<string, unknown>;
  cause?: unknown;
}

/** A failure that the caller of the API gets to see, with the status and message of `API_ERRORS`. */
export class ApiError extends GatewayError {
  readonly apiCode: ApiErrorCode;
  /** HTTP status. */
  readonly status: number;
  readonly details: ErrorDetail[] | undefined;
  readonly headers: Record<string, string>;
  readonly resetInSeconds: number | undefined;
  readonly reason: string | undefined;
  readonly oldestCursor: string | undefined;

  constructor(
    apiCode: ApiErrorCode,
    { details, headers, resetInSeconds, reason, oldestCursor, fields, cause }: ApiErrorOptions = {},
  ) {
    const { status, message } = API_ERRORS[apiCode];
    super({ code: apiCode, message, publicMessage: message, ...(fields && { fields }), cause });
    this.apiCode = apiCode;
    this.status = status;
    this.details = details;
    this.headers = headers ?? {};
    this.resetInSeconds = resetInSeconds;
    this.reason = reason;
    this.oldestCursor = oldestCursor;
  }
}

/** A write under an ownership was refused: another process owns the device now. The only remedy is to release it. */
export class FencedError extends GatewayError {
  constructor(fields?: Record<string, unknown>) {
    super({ code: 'fenced', message: 'the ownership of this device is gone', ...(fields && { fields }) });
  }
}

/** The caught value as an `Error`: anything can be thrown. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  const message = typeof thrown === 'string' ? thrown : 'something that is not an error was thrown';
  return new GatewayError({ code: 'unknown', message, cause: thrown });
}

/**
 * Every failure that a caller of the API can see: its HTTP status and its public message.
 * `docs/errors.md` explains each with cause and remedy.
 */
export const API_ERRORS = {
  invalid_request: { status: 400, message: 'Invalid request data' },
  invalid_token: { status: 401, message: 'Invalid API token' },
  not_found: { status: 404, message: 'Not found' },
  method_not_allowed: { status: 405, message: 'Method not allowed' },
  request_timeout: { status: 408, message: 'Request timeout' },
  no_device: { status: 409, message: 'No connected messenger device found' },
  link_ended: { status: 409, message: 'Linking ended before there was a code' },
  idempotency_in_progress: { status: 409, message: 'A request with this idempotency key is in progress' },
  payload_too_large: { status: 413, message: 'Payload too large' },
  unsupported_media_type: { status: 415, message: 'Unsupported media type' },
  queue_would_expire: { status: 422, message: 'Queue would expire' },
  not_on_messenger: { status: 422, message: 'Recipient is not on the messenger' },
  otp_not_sent: { status: 422, message: 'OTP was not sent' },
  idempotency_mismatch: { status: 422, message: 'Idempotency key was used with another request' },
  rate_limited: { status: 429, message: 'Rate limit exceeded' },
  headers_too_large: { status: 431, message: 'Request header fields too large' },
  internal: { status: 500, message: 'Internal server error' },
  unavailable: { status: 503, message: 'Service unavailable' },
  no_sender: { status: 503, message: 'No sender available' },
  network_timeout: { status: 504, message: 'Messenger network did not answer' },
} as const;

export type ApiErrorCode = keyof typeof API_ERRORS;

export interface ErrorDetail {
  path: (string | number)[];
  message: string;
}

/**
 * Every failure that a caller of the API can see: its HTTP status, its public message, and what the API's own documents
 * say of it. `docs/errors.md` explains each to operators, with cause and remedy.
 */
export const API_ERRORS = {
  invalid_request: {
    status: 400,
    message: 'Invalid request data',
    cause: 'Body, query or header is not what the endpoint takes; `details` says where.',
  },
  invalid_token: {
    status: 401,
    message: 'Invalid API token',
    cause: 'Missing, malformed, unknown, revoked or expired: all answered alike.',
  },
  not_allowed: {
    status: 403,
    message: 'Not allowed for this token',
    cause:
      'The token has not the scope that the operation names, or is of one device where the list of a workspace is asked for.',
  },
  not_found: { status: 404, message: 'Not found', cause: 'No such path, or no such message, any more.' },
  method_not_allowed: { status: 405, message: 'Method not allowed', cause: '`Allow` names the methods there are.' },
  request_timeout: {
    status: 408,
    message: 'Request timeout',
    cause: 'The request did not arrive as a whole in time, or its body too slowly.',
  },
  no_device: {
    status: 409,
    message: 'No connected messenger device found',
    cause:
      'No account is linked, or it was disconnected, logged out or banned: connect first. Or another one was linked meanwhile.',
  },
  link_ended: {
    status: 409,
    message: 'Linking ended before there was a code',
    cause:
      'Refused by the network or the phone, disconnected meanwhile, or in a pause that the network asked for: connect again, ' +
      'after `Retry-After` if there is one.',
  },
  passkey_required: {
    status: 409,
    message: 'The account asks for a passkey',
    cause:
      'It links no client without its passkey, which the gateway cannot show: link it elsewhere first, and take that session ' +
      'over with `device import`; its keys are kept. `reason` is `passkey_required`. For a minute ' +
      'after the scan, then the next call starts anew (`forceNew` does at once). With `forceNew` also for a device that has ' +
      'an account although its last attempt ended so: that link may be the last one, and is not logged out for an attempt.',
  },
  idempotency_in_progress: {
    status: 409,
    message: 'A request with this idempotency key is in progress',
    cause: 'The first request under this key has not been answered yet: repeat after `Retry-After`.',
  },
  payload_too_large: {
    status: 413,
    message: 'Payload too large',
    cause:
      'An attachment over 10 MB, or over a tenth of the `maxmemory` of a small Redis, as `details` say then; or over 1 MB of everything else.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Unsupported media type',
    cause: 'A body that is not `application/json` in UTF-8, or one that is compressed.',
  },
  queue_would_expire: {
    status: 422,
    message: 'Queue would expire',
    cause: 'At the pace of the device, and behind what is queued, it could not be sent before it expires.',
  },
  not_on_messenger: {
    status: 422,
    message: 'Recipient is not on the messenger',
    cause: 'The network does not know the number.',
  },
  otp_not_sent: {
    status: 422,
    message: 'OTP was not sent',
    cause: 'The network refused it, it expired, or it was cancelled; `details` says which.',
  },
  idempotency_mismatch: {
    status: 422,
    message: 'Idempotency key was used with another request',
    cause: 'Within 24 hours a key stands for one request.',
  },
  opt_outs_full: {
    status: 422,
    message: 'List of opt-outs is full',
    cause: 'It holds as many people as the operator allows; `details` says how many were not added.',
  },
  rate_limited: {
    status: 429,
    message: 'Rate limit exceeded',
    cause: 'Too many requests in a minute: wait `resetIn` seconds.',
  },
  contact_checks_used_up: {
    status: 429,
    message: 'Daily limit of contact checks reached',
    cause: 'The device would check more numbers than a day allows: wait `resetIn` seconds, or check fewer.',
  },
  headers_too_large: {
    status: 431,
    message: 'Request header fields too large',
    cause: 'More than 16 kB of headers and path.',
  },
  internal: {
    status: 500,
    message: 'Internal server error',
    cause: 'A defect of ours; `X-Request-Id` names the request.',
  },
  unavailable: {
    status: 503,
    message: 'Service unavailable',
    cause:
      'It cannot be done for now, or not to its end: repeat after `Retry-After`, with an `Idempotency-Key` if it must not ' +
      'happen twice.',
  },
  no_sender: {
    status: 503,
    message: 'No sender available',
    cause: 'No process has room for another device, or none has this one just now: repeat after `Retry-After`.',
  },
  network_timeout: {
    status: 504,
    message: 'Messenger network did not answer',
    cause: 'There was no code in time: connect again.',
  },
} as const;

export type ApiErrorCode = keyof typeof API_ERRORS;

export interface ErrorDetail {
  path: (string | number)[];
  message: string;
}

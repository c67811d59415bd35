/**
 * Every failure that a caller of the API can see: HTTP status, public message, and the cause as the OpenAPI document gives
 * it. `docs/errors.md` explains each to operators, with cause and remedy.
 */
export const API_ERRORS = {
  invalid_request: {
    status: 400,
    message: 'Invalid request data',
    cause: 'The body, the query or a header is not what the endpoint takes; `details` says where.',
  },
  invalid_token: {
    status: 401,
    message: 'Invalid API token',
    cause: 'The token is missing, malformed, unknown, revoked or expired. The answer is the same for all of these.',
  },
  not_allowed: {
    status: 403,
    message: 'Not allowed for this token',
    cause:
      'The token lacks the scope of the operation, or it belongs to one device and the operation is about the whole workspace.',
  },
  not_found: {
    status: 404,
    message: 'Not found',
    cause: 'There is no such path, message, event or webhook, or it has been deleted.',
  },
  method_not_allowed: { status: 405, message: 'Method not allowed', cause: '`Allow` lists the methods of this path.' },
  request_timeout: {
    status: 408,
    message: 'Request timeout',
    cause: 'The request was not complete in time, or its body came too slowly.',
  },
  no_device: {
    status: 409,
    message: 'No connected messenger device found',
    cause:
      'No account is linked, or it was disconnected, logged out or banned: connect first. Or another account was linked while ' +
      'the request was handled.',
  },
  link_ended: {
    status: 409,
    message: 'Linking ended before there was a code',
    cause:
      'The network or the phone refused, the device was disconnected meanwhile, or the network has asked for a pause: connect ' +
      'again, after `Retry-After` if it is given.',
  },
  passkey_required: {
    status: 409,
    message: 'The account asks for a passkey',
    cause:
      'The account links a client only with its passkey, which the gateway does not support. Link it with another client, and ' +
      'import that session with `device import`. `reason` is `passkey_required`. Calls get this answer for a minute after the ' +
      'scan; after that, or at once with `forceNew`, a new attempt starts. `forceNew` is also refused for a device whose last ' +
      'attempt ended this way and which has an account since: after a logout it could not be linked again.',
  },
  idempotency_in_progress: {
    status: 409,
    message: 'A request with this idempotency key is in progress',
    cause: 'The first request with this key has not been answered yet: retry after `Retry-After`.',
  },
  media_gone: {
    status: 410,
    message: 'File is gone',
    cause:
      "The network does not have the file any more, and the account's phone does not either, or cannot be asked: another account is linked now, or the device was removed.",
  },
  events_gone: {
    status: 410,
    message: 'Events are gone',
    cause:
      'Events behind this cursor, or of the time of this id, are not kept any more. Go on from `oldestCursor`, and read what you missed from `GET /messages`.',
  },
  payload_too_large: {
    status: 413,
    message: 'Payload too large',
    cause:
      'The attachment is larger than 10 MB, or than a tenth of the `maxmemory` of a small Redis (`details` says so), or the ' +
      'rest of the body is larger than 1 MB.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Unsupported media type',
    cause: 'The body is not `application/json` in UTF-8, or it is compressed.',
  },
  queue_would_expire: {
    status: 422,
    message: 'Queue would expire',
    cause: 'With the backlog and the pace of the device the message would expire before it could be sent.',
  },
  not_on_messenger: {
    status: 422,
    message: 'Recipient is not on the messenger',
    cause: 'The network does not know the number.',
  },
  otp_not_sent: {
    status: 422,
    message: 'OTP was not sent',
    cause: 'The network refused it, it expired, or it was cancelled; `details` gives the reason.',
  },
  idempotency_mismatch: {
    status: 422,
    message: 'Idempotency key was used with another request',
    cause: 'For 24 hours an idempotency key belongs to one request.',
  },
  devices_full: {
    status: 422,
    message: 'Limit of devices reached',
    cause: 'The workspace has as many devices as its operator allows.',
  },
  opt_outs_full: {
    status: 422,
    message: 'List of opt-outs is full',
    cause: 'The list has reached the size that the operator allows; `details` says how many people were not added.',
  },
  replays_full: {
    status: 422,
    message: 'Too many replays',
    cause: 'A hundred replays of this webhook are not done yet: wait for them.',
  },
  webhooks_full: {
    status: 422,
    message: 'Too many webhooks',
    cause: 'The workspace has 50 webhook endpoints: delete one first.',
  },
  rate_limited: {
    status: 429,
    message: 'Rate limit exceeded',
    cause: 'Too many requests in a minute: wait `resetIn` seconds.',
  },
  contact_checks_used_up: {
    status: 429,
    message: 'Daily limit of contact checks reached',
    cause: 'The device would exceed its daily limit of checked numbers: wait `resetIn` seconds, or check fewer.',
  },
  headers_too_large: {
    status: 431,
    message: 'Request header fields too large',
    cause: 'Headers and path are larger than 16 kB.',
  },
  internal: {
    status: 500,
    message: 'Internal server error',
    cause: 'A defect in the gateway; `X-Request-Id` identifies the request.',
  },
  unavailable: {
    status: 503,
    message: 'Service unavailable',
    cause:
      'The gateway cannot do this now, or could not finish it: retry after `Retry-After`, with an `Idempotency-Key` if it must ' +
      'not happen twice.',
  },
  not_confirmed: {
    status: 503,
    message: 'Not confirmed, and may still happen',
    cause:
      'It was written down, but replicas of Redis did not confirm it in time (`REDIS_WAIT_REPLICAS`): it may still happen. Repeat it ' +
      'with the same `Idempotency-Key`.',
  },
  no_sender: {
    status: 503,
    message: 'No sender available',
    cause: 'All senders are full, or no sender has this device at the moment: retry after `Retry-After`.',
  },
  network_timeout: {
    status: 504,
    message: 'Messenger network did not answer',
    cause: 'The network sent no code in time: connect again.',
  },
} as const;

export type ApiErrorCode = keyof typeof API_ERRORS;

export interface ErrorDetail {
  path: (string | number)[];
  message: string;
}

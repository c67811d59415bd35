import { GatewayError } from '@gateway/runtime/errors';

/** The server could not prove that it is the network. */
export class UntrustedServerError extends GatewayError {
  constructor(why: string) {
    super({ code: 'untrusted_server', message: `the server is not trusted: ${why}` });
  }
}

/** There is no linked device to log in as, and no link was requested. */
export class NotLinkedError extends GatewayError {
  constructor() {
    super({ code: 'not_linked', message: 'no device is linked' });
  }
}

/** Keys exist but cannot be read. They must not be treated as absent. */
export class KeysUnreadableError extends GatewayError {
  constructor(type: string, cause: unknown) {
    super({ code: 'keys_unreadable', message: 'session keys cannot be read', fields: { type }, cause });
  }
}

/** There is no recipient, or the lookup failed. Nothing was written. */
export class RecipientError extends GatewayError {
  constructor(code: 'not_on_messenger' | 'look_up_failed', networkCode?: number) {
    super({
      code,
      message: 'the recipient cannot be sent to',
      fields: networkCode === undefined ? {} : { networkCode },
    });
  }
}

/** The session has ended, or is not open yet. */
export class SessionEndedError extends GatewayError {
  constructor() {
    super({ code: 'session_ended', message: 'the session is not open' });
  }
}

/** Something took too long. */
export class TimeoutError extends GatewayError {
  constructor(what: string, afterMs: number) {
    super({ code: 'timeout', message: `${what} took too long`, fields: { afterMs } });
  }
}

/** The network refused a query. */
export class NetworkRefusalError extends GatewayError {
  constructor(readonly networkCode: number) {
    super({ code: 'network_refusal', message: 'the network refused a question', fields: { networkCode } });
  }
}

/** The network knows none of the limits in the query. */
export class UnknownLimitsError extends GatewayError {
  constructor() {
    super({ code: 'unknown_limits', message: 'the network knows none of the limits that it was asked for' });
  }
}

/** The network's error code for a query; `undefined` for other errors. */
export function networkCodeOf(thrown: unknown): number | undefined {
  if (thrown instanceof NetworkRefusalError) return thrown.networkCode;
  const { data, output } = (thrown ?? {}) as { data?: unknown; output?: { statusCode?: unknown } };
  return [data, output?.statusCode].map(Number).find((code) => code > 0);
}

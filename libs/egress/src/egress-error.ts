import { isIP } from 'node:net';
import { GatewayError } from '@gateway/runtime/errors';

/** Why nothing was fetched. The first ones are refusals of ours: nothing was asked of that host. */
export const EGRESS_REASONS = [
  'scheme',
  'port',
  /** Not of the public internet. */
  'address',
  /** Of a network that the operator denied. */
  'denied_network',
  'redirects',
  /** Its name has no address, or its name servers do not say. */
  'name',
  /** No connection, none that can be trusted, or it ended early. */
  'connection',
  'status',
  'encoding',
  'too_large',
  'too_slow',
  /** It came in pieces of a few bytes. */
  'tiny_pieces',
  /** Too much that is none of the body: heads, chunk extensions, trailers. */
  'surroundings',
] as const;

export type EgressReason = (typeof EGRESS_REASONS)[number];

/** What may be the number of a person: as many digits, with anything between them. */
const NUMBER = /(?:\d\D*){7}/;

/** A URL that was not fetched. Its host is all that may be logged of the URL: the rest may hold secrets. */
export class EgressError extends GatewayError {
  readonly reason: EgressReason;
  /** Of the URL that it ended at, after redirects. A name that may contain a phone number has no digits. */
  readonly host: string;

  constructor(reason: EgressReason, hostname: string, cause?: Error) {
    const host = shownHost(hostname);
    super({ code: 'url_not_fetched', message: 'a URL was not fetched', fields: { reason, host }, cause });
    this.reason = reason;
    this.host = host;
  }
}

/** For logs: a name that may contain a phone number without its digits. */
export function shownHost(hostname: string): string {
  const isAddress = hostname.startsWith('[') || isIP(hostname) !== 0;
  return NUMBER.test(hostname) && !isAddress ? hostname.replace(/\d+/g, '***') : hostname;
}

/** What ended a request, as one of ours. */
export function nameFailure(error: Error, { hostname }: URL, signal: AbortSignal): Error {
  if (error instanceof GatewayError) return error;
  // Its own limits of time are the same as ours, and may be noticed first.
  const isSlow = signal.aborted || /_TIMEOUT$/.test(String((error as NodeJS.ErrnoException).code));
  return new EgressError(isSlow ? 'too_slow' : 'connection', hostname, error);
}

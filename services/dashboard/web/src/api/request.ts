import type { ErrorDetail } from '@gateway/contracts/errors';
import { hearDate } from './clock.js';

/** Why the console, or the API behind it, did not do what was asked. */
export class RequestFailure extends Error {
  constructor(
    /** HTTP status; 0 when there was no answer. */
    readonly status: number,
    /** Of `errors` in the texts. */
    readonly code: string,
    readonly requestId: string | undefined,
    readonly details: readonly ErrorDetail[],
    /** Seconds until it may be asked again. */
    readonly resetIn: number | undefined,
  ) {
    super(code);
  }
}

interface Failed {
  code?: string;
  requestId?: string;
  details?: ErrorDetail[];
  resetIn?: number;
}

/** Asks the console. Throws `RequestFailure`. @param path below `/console/api`. */
export async function request<Answer>(path: string, write?: { json: unknown }): Promise<Answer> {
  const askedAtMs = Date.now();
  const response = await fetch(`/console/api${path}`, {
    ...(write && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(write.json),
    }),
  }).catch(() => undefined);
  if (!response) throw new RequestFailure(0, 'no_answer', undefined, [], undefined);
  hearDate(response.headers.get('date'), askedAtMs);
  const body: unknown = await response.json().catch(() => ({}));
  if (response.ok) return body as Answer;
  const { code = 'internal', requestId, details = [], resetIn } = body as Failed;
  const id = requestId ?? response.headers.get('x-request-id') ?? undefined;
  throw new RequestFailure(response.status, code, id, details, resetIn);
}

import { LIMITS } from '@gateway/contracts/limits';
import { EgressError } from '@gateway/egress/egress-error';
import { fetchUrl } from '@gateway/egress/fetch-url';
import { freeBytes } from '@gateway/runtime/bytes/collected-bytes';
import { ApiError, toError } from '@gateway/runtime/errors';
import type { ApiDeps } from '../api-deps.js';
import type { Call } from '../http/endpoint.js';

export type FetchCall = Pick<Call<unknown, unknown>, 'account' | 'logger' | 'signal' | 'token'>;
export type FetchDeps = Pick<ApiDeps, 'fetchPolicy' | 'fetchTurns' | 'metrics'>;

/** The rest of the promised time is for the fetch itself. */
const TURN_WAIT_MS = 5_000;

/**
 * Fetches the file of an attachment while its caller waits. The time in the caller's own line counts, and each byte
 * counts towards what the caller's requests may hold in memory.
 *
 * Throws 413 past the size limit, 503 when the caller has too much under way, and 400 naming the URL for everything else
 * that goes wrong. Its message tells a caller nothing about our network; the log and a metric have the reason.
 */
export async function fetchFile(
  url: string,
  call: FetchCall,
  { fetchPolicy, fetchTurns, metrics }: FetchDeps,
): Promise<Buffer> {
  const { signal, account } = call;
  const startedAt = performance.now();
  const endTurn = await fetchTurns.take(call.token.keyId, TURN_WAIT_MS, signal);
  if (!endTurn) throw new ApiError('unavailable', { headers: { 'Retry-After': '5' } });
  try {
    const bytes = await fetchUrl(url, fetchPolicy, {
      signal,
      timeoutMs: LIMITS.attachmentFetchSeconds * 1000 - Math.round(performance.now() - startedAt),
      maxBytes: LIMITS.maxAttachmentBytes,
      maxRedirects: LIMITS.maxAttachmentRedirects,
      onBytes: account.take,
    });
    account.onEnd(() => freeBytes(bytes));
    return bytes;
  } catch (thrown) {
    if (signal.aborted) throw new ApiError('unavailable', { cause: toError(thrown) });
    if (!(thrown instanceof EgressError)) throw thrown;
    const { reason, host } = thrown;
    metrics.refusedUrls.inc({ refusal: reason });
    call.logger.info('attachment URL not fetched', { reason, host });
    if (reason === 'too_large') throw new ApiError('payload_too_large');
    const details = [{ path: ['attachment', 'url'], message: 'could not be fetched' }];
    throw new ApiError('invalid_request', { details, cause: thrown });
  } finally {
    endTurn();
  }
}

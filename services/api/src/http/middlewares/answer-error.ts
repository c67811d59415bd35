import { ApiError, toError } from '@gateway/runtime/errors';
import { isNotConfirmed, isRedisAway, isRedisFull } from '@gateway/runtime/redis/is-redis-away';
import { MasterInDoubtError } from '@gateway/store/core/confirming/standing';
import { UnknownVersionError } from '@gateway/store/core/scripts/unknown-version-error';
import { UnknownKeyError } from '@gateway/store/core/vault';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import type { ErrorRequestHandler } from 'express';
import type { ApiDeps } from '../../api-deps.js';
import { noRoom } from '../../sends/redis-headroom.js';
import { sendAnswer } from '../../sends/send-answer.js';
import { removeLimitHeaders } from '../address-windows.js';
import { bodyLength } from '../body/body-length.js';
import { dropRest } from '../body/drop-rest.js';
import { invalidToken } from '../known-tokens.js';
import { localsOf } from '../request-locals.js';

/** Every failure leaves here, in the contract's shape: a stranger sees nothing of our insides. */
export function answerError({ logger }: ApiDeps): ErrorRequestHandler {
  return (thrown: unknown, req, res, _next) => {
    const error = toApiError(toError(thrown));
    const { requestId, route, endSteps } = localsOf(res);
    endSteps?.();
    if (error.status >= 500) {
      const log = error.apiCode === 'internal' ? logger.error : logger.warn;
      log('request failed with an error', { requestId, route, reason: error.apiCode, error: error.cause ?? error });
    }
    const body = {
      success: false,
      error: error.publicMessage,
      ...(error.reason !== undefined && { reason: error.reason }),
      ...(error.oldestCursor !== undefined && { oldestCursor: error.oldestCursor }),
      ...(error.details && { details: error.details }),
      ...(error.resetInSeconds !== undefined && { resetIn: error.resetInSeconds }),
    };
    // Its caller is still sending: there will be no next request on this connection.
    const isSending = !req.complete && bodyLength(req) > 0;
    if (isSending) res.shouldKeepAlive = false;
    if (error.apiCode === 'invalid_token') removeLimitHeaders(res);
    sendAnswer(res, { status: error.status, body, headers: error.headers });
    if (isSending) dropRest(req);
  };
}

function toApiError(error: Error): ApiError {
  if (error instanceof ApiError) return error.status === 503 ? withRetryAfter(error) : error;
  if (isRedisFull(error)) return noRoom(error);
  if (isNotConfirmed(error)) {
    return withRetryAfter(new ApiError('not_confirmed', { cause: error }));
  }
  if (error instanceof WorkspaceGoneError) return invalidToken(error);
  // Another process will answer: one that reaches the others, with the key, or of the version that wrote the record.
  const isOfProcess = [MasterInDoubtError, UnknownKeyError, UnknownVersionError].some((of) => error instanceof of);
  if (isRedisAway(error) || isOfProcess) return withRetryAfter(new ApiError('unavailable', { cause: error }));
  return new ApiError('internal', { cause: error });
}

function withRetryAfter(error: ApiError): ApiError {
  error.headers['Retry-After'] ??= '2';
  return error;
}

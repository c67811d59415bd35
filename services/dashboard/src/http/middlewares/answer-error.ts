import { toError } from '@gateway/runtime/errors';
import { isRedisAway } from '@gateway/runtime/redis/is-redis-away';
import { MasterInDoubtError } from '@gateway/store/core/confirming/standing';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import type { ErrorRequestHandler } from 'express';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { ApiRefusal } from '../../public-api.js';
import { ConsoleError } from '../console-error.js';
import { localsOf } from '../locals.js';

/** Every failure leaves here, in the contract's shape and with a code and the request's id beside. */
export function answerError({ logger }: DashboardDeps): ErrorRequestHandler {
  return (thrown: unknown, _req, res, _next) => {
    const { requestId, route } = localsOf(res);
    const error = toConsoleError(toError(thrown));
    if (error.status >= 500) logger.warn('console request failed', { requestId, route, error: error.cause ?? error });
    // Too late to say so: such as when Redis goes away while a session is written.
    if (res.headersSent) return void (res.writableEnded || res.destroy());
    if (error instanceof ApiRefusal) return res.status(error.status).json({ ...error.body, requestId });
    if (error.resetInSeconds !== undefined) res.setHeader('Retry-After', error.resetInSeconds);
    return res.status(error.status).json({
      success: false,
      error: error.publicMessage,
      code: error.code,
      ...(error.details && { details: error.details }),
      ...(error.resetInSeconds !== undefined && { resetIn: error.resetInSeconds }),
      requestId,
    });
  };
}

function toConsoleError(error: Error): ConsoleError | ApiRefusal {
  if (error instanceof ConsoleError || error instanceof ApiRefusal) return error;
  if (isRedisAway(error) || error instanceof MasterInDoubtError)
    return new ConsoleError('unavailable', { cause: error });
  if (error instanceof WorkspaceGoneError) return new ConsoleError('not_found');
  // Of body-parser: what is no JSON, or too long.
  if ('type' in error && 'status' in error) return new ConsoleError('invalid_request');
  return new ConsoleError('internal', { cause: error });
}

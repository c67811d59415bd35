import { DEFAULT_WORKSPACE } from '@gateway/contracts/ids';
import type { RequestHandler } from 'express';
import type { ApiDeps } from '../../api-deps.js';
import { localsOf } from '../request-locals.js';

/**
 * One log line and one measurement per request, when its answer is out or its caller gone. No line for those refused unseen, and one
 * for `debug` if the request made a send: `send accepted` tells that.
 */
export function observeRequest({ clock, logger, metrics }: ApiDeps): RequestHandler {
  return (req, res, next) => {
    const startedAtMs = clock.monotonicMs();
    res.once('close', () => {
      const { requestId, route = 'unknown', token, isQuiet, madeSend } = localsOf(res);
      const durationMs = clock.monotonicMs() - startedAtMs;
      const method = toKnownMethod(req.method);
      // 499: the caller left before there was an answer.
      const status = res.writableFinished ? res.statusCode : 499;
      metrics.requestSeconds.observe({ method, route, status_code: String(status) }, durationMs / 1000);
      if (isQuiet) return;
      const fields = {
        ...{ requestId, method, route, status, durationMs: Math.round(durationMs), tokenId: token?.keyId },
        ...(token && token.workspace !== DEFAULT_WORKSPACE && { workspace: token.workspace }),
      };
      if (status >= 500) logger.warn('request failed', fields);
      else if (madeSend) logger.debug('request answered', fields);
      else logger.info('request answered', fields);
    });
    next();
  };
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Callers can invent methods; a metric must not grow a series for each. */
function toKnownMethod(method: string): string {
  return METHODS.has(method) ? method : 'other';
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { DEFAULT_WORKSPACE, maskRequestId, takeOrMakeRequestId } from '@gateway/contracts/ids';
import type { ApiDeps } from '../../api-deps.js';
import { RequestLocals } from '../request-locals.js';
import { divertBrokenPath } from './refuse-unknown.js';

/**
 * Check 1: every request has an id, from the first log line to the ack of the network. One log line and one measurement per request, when
 * its answer is out or its caller gone: no line for those refused unseen, and one for `debug` if the request made a send, as
 * `send accepted` tells that.
 */
export function beginRequest({ clock, logger, metrics }: ApiDeps): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    const startedAtMs = clock.monotonicMs();
    const received = req.headers['x-request-id'] as string | undefined;
    const requestId = takeOrMakeRequestId(received);
    const locals = new RequestLocals(requestId === received ? maskRequestId(requestId) : requestId);
    Object.assign(res, { locals });
    res.setHeader('X-Request-Id', requestId);
    res.once('close', () => {
      const { requestId, route = 'unknown', token, isQuiet, madeSend } = locals;
      const durationMs = clock.monotonicMs() - startedAtMs;
      const method = toKnownMethod(req.method);
      // 499: the caller left before there was an answer.
      const status = res.writableFinished ? res.statusCode : 499;
      metrics.requestSeconds.observe({ method, route, status_code: String(status) }, durationMs / 1000);
      if (isQuiet) return;
      const fields = {
        requestId,
        ...{ method, route, status, durationMs: Math.round(durationMs), tokenId: token?.keyId },
        ...(token && token.workspace !== DEFAULT_WORKSPACE && { workspace: token.workspace }),
      };
      if (status >= 500) logger.warn('request failed', fields);
      else if (madeSend) logger.debug('request answered', fields);
      else logger.info('request answered', fields);
    });
    divertBrokenPath(req);
  };
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Callers can invent methods; a metric must not grow a series for each. */
function toKnownMethod(method = ''): string {
  return METHODS.has(method) ? method : 'other';
}

import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { localsOf } from '../locals.js';

/** Every request has an id of ours; one log line and one measurement when its answer is out. */
export function observeRequest({ clock, logger, metrics }: DashboardDeps): RequestHandler {
  return (req, res, next) => {
    const startedAtMs = clock.monotonicMs();
    const requestId = `req_${randomUUID()}`;
    localsOf(res).requestId = requestId;
    res.setHeader('X-Request-Id', requestId);
    res.once('close', () => {
      const { route, user } = localsOf(res);
      // Pages, their files and live streams tell nothing that is not told elsewhere.
      if (route === undefined) return;
      const durationMs = clock.monotonicMs() - startedAtMs;
      const status = res.writableFinished ? res.statusCode : 499;
      metrics.requestSeconds.observe({ method: req.method, route, status_code: String(status) }, durationMs / 1000);
      const fields = { requestId, method: req.method, route, status, durationMs: Math.round(durationMs) };
      // As often as strangers like, who learn and change nothing by it.
      const isFlood = user === undefined && (route === '/me' || status === 429);
      (isFlood ? logger.debug : logger.info)('console request answered', { ...fields, user: user?.name });
    });
    next();
  };
}

import express, { type Express, type RequestHandler } from 'express';
import type { ApiDeps } from '../api-deps.js';
import { DeviceStates } from '../devices/device-states.js';
import { BASE_PATH, ENDPOINTS } from '../endpoints.js';
import type { Endpoint } from './endpoint.js';
import { answerError } from './middlewares/answer-error.js';
import { authenticate } from './middlewares/authenticate.js';
import { createRateLimits } from './middlewares/limit-rate.js';
import { observeRequest } from './middlewares/observe-request.js';
import { readAhead } from './middlewares/read-ahead.js';
import { readBody } from './middlewares/read-body.js';
import { allowedMethods, divertBrokenPath, refuseMethod, refusePath } from './middlewares/refuse-unknown.js';
import { requireScope } from './middlewares/require-scope.js';
import { runHandler } from './middlewares/run-handler.js';
import { DOCUMENT_PATHS, serveDocuments } from './middlewares/serve-documents.js';
import { takeRequestId } from './middlewares/take-request-id.js';
import { traceRequest } from './middlewares/trace-request.js';
import { validateInput } from './middlewares/validate-input.js';
import { localsOf } from './request-locals.js';

/** The public API. The order of checks is the order of lines; nothing before `readBody` touches a body. */
export function createApp(deps: ApiDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', deps.trustedProxies);
  app.set('query parser', 'simple');

  const limits = createRateLimits(deps);
  const states = new DeviceStates(deps.store);
  const limitOther = limits.byToken('other');

  app.use(takeRequestId, observeRequest(deps));
  serveDocuments(app, limits.tokenless.count, { endpoints: ENDPOINTS, basePath: BASE_PATH });
  app.use(authenticate(deps, limits.failedTokens));
  app.use(divertBrokenPath(limitOther));
  for (const [path, endpoints] of groupByPath(ENDPOINTS)) {
    const route = app.route(`${BASE_PATH}${path}`).all(nameRoute(path));
    const allowed = endpoints.flatMap(allowedMethods);
    const refuse = [limitOther, refuseMethod(allowed)];
    // Otherwise the router would take GET for it.
    if (!allowed.includes('HEAD')) route.head(...refuse);
    for (const endpoint of endpoints) {
      const steps = [
        ...(endpoint.makesSends ? [traceRequest] : []),
        ...(endpoint.readsState ? [readAhead(states)] : []),
        limits.byToken(endpoint.bucket),
        requireScope(endpoint),
        readBody(deps, endpoint),
        validateInput(endpoint),
        runHandler(endpoint, deps, states),
      ];
      for (const method of endpoint.methods) route[method](...steps);
    }
    route.all(...refuse);
  }
  app.all(
    DOCUMENT_PATHS.map((path) => `${BASE_PATH}${path}`),
    limitOther,
    refuseMethod(['GET', 'HEAD']),
  );
  app.use(limitOther, refusePath);
  app.use(answerError(deps));
  return app;
}

function nameRoute(path: string): RequestHandler {
  return (_req, res, next) => {
    localsOf(res).route = path;
    next();
  };
}

function groupByPath(endpoints: readonly Endpoint[]): Map<string, Endpoint[]> {
  const groups = new Map<string, Endpoint[]>();
  for (const endpoint of endpoints) groups.set(endpoint.path, [...(groups.get(endpoint.path) ?? []), endpoint]);
  return groups;
}

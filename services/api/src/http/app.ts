import type { RequestListener } from 'node:http';
import express, { type RequestHandler } from 'express';
import type { ApiDeps } from '../api-deps.js';
import { DeviceStates } from '../devices/device-states.js';
import { BASE_PATH, ENDPOINTS } from '../endpoints.js';
import { type App, answerDirectly, makeMessages } from './answer-directly.js';
import type { Endpoint } from './endpoint.js';
import { KnownTokens } from './known-tokens.js';
import { answerError } from './middlewares/answer-error.js';
import { authenticate } from './middlewares/authenticate.js';
import { beginRequest } from './middlewares/begin-request.js';
import { createRateLimits } from './middlewares/limit-rate.js';
import { readAhead } from './middlewares/read-ahead.js';
import { readBody } from './middlewares/read-body.js';
import { allowedMethods, refuseMethod, refusePath } from './middlewares/refuse-unknown.js';
import { requireScope } from './middlewares/require-scope.js';
import { runHandler } from './middlewares/run-handler.js';
import { DOCUMENT_PATHS, serveDocuments } from './middlewares/serve-documents.js';
import { inOrder, type Step } from './middlewares/step.js';
import { traceRequest } from './middlewares/trace-request.js';
import { validateInput } from './middlewares/validate-input.js';
import { localsOf } from './request-locals.js';

/**
 * The public API. The order of checks is the order of lines; nothing before `readBody` touches a body. Express finds the route, and
 * what it finds is done by one handler: each layer of its router costs a request as much as a check.
 */
export function createApp(deps: ApiDeps): App {
  const app = express();
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', deps.trustedProxies);
  app.set('query parser', 'simple');

  const limits = createRateLimits(deps);
  const states = new DeviceStates(deps.store);
  const known = new KnownTokens(deps);
  const limitOther = limits.byToken('other');

  const begin = beginRequest(deps);
  const checkToken = authenticate({ ...deps, known }, limits.failedTokens);
  const refuseWith = (refuse: Step) => inOrder([checkToken, limitOther, refuse]);
  const answers = new Map<string, RequestHandler>();
  for (const [path, endpoints] of groupByPath(ENDPOINTS)) {
    const route = app.route(`${BASE_PATH}${path}`);
    const allowed = endpoints.flatMap(allowedMethods);
    const refuse = inOrder([checkToken, nameRoute(path), limitOther, refuseMethod(allowed)]);
    // Otherwise the router would take GET for it.
    if (!allowed.includes('HEAD')) route.head(refuse);
    for (const endpoint of endpoints) {
      const answer = inOrder([
        checkToken,
        nameRoute(path),
        ...(endpoint.makesSends ? [traceRequest] : []),
        ...(endpoint.readsState ? [readAhead(states)] : []),
        limits.byToken(endpoint.bucket),
        requireScope(endpoint),
        readBody({ ...deps, known }, endpoint),
        validateInput(endpoint),
        runHandler(endpoint, deps, { states, known }),
      ]);
      for (const method of endpoint.methods) {
        route[method](answer);
        if (!path.includes(':')) answers.set(`${method.toUpperCase()} ${BASE_PATH}${path}`, answer);
      }
    }
    route.all(refuse);
  }
  serveDocuments(app, limits.tokenless.count, { endpoints: ENDPOINTS, basePath: BASE_PATH });
  app.all(
    DOCUMENT_PATHS.map((path) => `${BASE_PATH}${path}`),
    refuseWith(refuseMethod(['GET', 'HEAD'])),
  );
  app.use(refuseWith(refusePath));
  const failed = answerError(deps);
  app.use(failed);
  const messages = makeMessages(app);
  const find = answerDirectly(app, { messages, answers, answerError: failed });
  const listener: RequestListener = (req, res) => {
    begin(req, res);
    find(req, res);
  };
  return Object.assign(listener, { messages });
}

function nameRoute(path: string): Step {
  return (_req, res) => {
    localsOf(res).route = path;
  };
}

function groupByPath(endpoints: readonly Endpoint[]): Map<string, Endpoint[]> {
  const groups = new Map<string, Endpoint[]>();
  for (const endpoint of endpoints) groups.set(endpoint.path, [...(groups.get(endpoint.path) ?? []), endpoint]);
  return groups;
}

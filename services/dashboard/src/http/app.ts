import express, { type Express, type RequestHandler } from 'express';
import type { DashboardDeps } from '../dashboard-deps.js';
import { streamLive } from '../live/stream-live.js';
import { OPERATIONS } from '../operations/operations.js';
import { loadSessions } from '../sessions/load-sessions.js';
import { ConsoleError } from './console-error.js';
import { answerError } from './middlewares/answer-error.js';
import { guardHost } from './middlewares/guard-host.js';
import { guardWrites } from './middlewares/guard-writes.js';
import { limitSignIns } from './middlewares/limit-sign-ins.js';
import { observeRequest } from './middlewares/observe-request.js';
import { refuseOthers, runOperation } from './middlewares/run-operation.js';
import { secureHeaders, serveAssets, servePage } from './serve-page.js';

const API = '/console/api';
const MAX_BODY_BYTES = 64 * 1024;

/** The console. The order of checks is the order of lines; nothing before `guardWrites` touches a body or a session. */
export function createApp(deps: DashboardDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', deps.trustedProxies);
  app.set('query parser', 'simple');

  app.use(observeRequest(deps));
  // Files, of which a page has forty: the half kilobyte of its own headers would say nothing about them.
  app.use('/console/assets', serveAssets(deps));
  app.use(secureHeaders(deps), guardHost(deps));
  app.use('/console/assets', (_req, _res, next) => next(new ConsoleError('not_found')));
  app.use(API, (_req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    next();
  });
  app.use(API, guardWrites, readSmallBody, loadSessions(deps));
  const limits = limitSignIns(deps);
  for (const each of OPERATIONS) {
    const steps = [
      ...(each.for === 'unknown' ? limits : []),
      refuseOthers(each),
      ...(each.maxBodyBytes === undefined ? [] : [express.json({ limit: each.maxBodyBytes })]),
    ];
    app[each.method](`${API}${each.path}`, ...steps, runOperation(each, deps));
  }
  app.get(`${API}/live`, streamLive(deps));
  app.use(API, (_req, _res, next) => next(new ConsoleError('not_found')));
  app.get(['/console', '/console/*path'], servePage(deps));
  app.get('/', (_req, res) => res.redirect('/console'));
  app.use((_req, _res, next) => next(new ConsoleError('not_found')));
  app.use(answerError(deps));
  return app;
}

const LARGE = new Set(OPERATIONS.flatMap(({ path, maxBodyBytes }) => (maxBodyBytes === undefined ? [] : [path])));
const readJson = express.json({ limit: MAX_BODY_BYTES });

/** What may be larger is read when it is known who asks. */
const readSmallBody: RequestHandler = (req, res, next) => (LARGE.has(req.path) ? next() : readJson(req, res, next));

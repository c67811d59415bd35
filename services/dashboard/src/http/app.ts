import express, { type Express } from 'express';
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
import { BodyReaders } from './middlewares/read-body.js';
import { refuseOthers, runOperation } from './middlewares/run-operation.js';
import { ReadTurns } from './read-turns.js';
import { secureHeaders, serveAssets, servePage } from './serve-page.js';

const API = '/console/api';

/** The console. The order of checks is the order of lines; nothing before `guardWrites` touches a session, nor a body before its user is known. */
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
  app.use(API, guardWrites, loadSessions(deps));
  const limits = limitSignIns(deps);
  const bodies = new BodyReaders();
  const turns = new ReadTurns();
  for (const each of OPERATIONS) {
    // Bodies are read when it is known who asks.
    const steps = [refuseOthers(each), ...bodies.readerOf(each), ...(each.for === 'unknown' ? limits : [])];
    app[each.method](`${API}${each.path}`, ...steps, runOperation(each, deps, turns));
  }
  app.get(`${API}/live`, streamLive(deps));
  app.use(API, (_req, _res, next) => next(new ConsoleError('not_found')));
  app.get(['/console', '/console/*path'], servePage(deps));
  app.get('/', (_req, res) => res.redirect('/console'));
  app.use((_req, _res, next) => next(new ConsoleError('not_found')));
  app.use(answerError(deps));
  return app;
}

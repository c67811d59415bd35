import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { findUser, type User } from '@gateway/store/console/users';
import type { Request, RequestHandler } from 'express';
import session from 'express-session';
import type { DashboardDeps } from '../dashboard-deps.js';
import { localsOf } from '../http/locals.js';
import { SessionStore } from './session-store.js';

/**
 * Finds out who asks. Their role is read each time: what an admin takes away is gone with the next request. Throws `MasterInDoubtError`
 * where a master that was replaced might answer for that.
 */
export function loadSessions(deps: DashboardDeps): RequestHandler[] {
  const { store, standing, logger, publicUrl, cookieSecrets } = deps;
  const secure = publicUrl?.protocol === 'https:';
  return [
    async (_req, _res, next) => {
      await standing?.assert();
      next();
    },
    session({
      // Browsers keep a `__Host-` cookie to this host, and take it over https alone.
      name: secure ? '__Host-console' : 'console',
      secret: [...cookieSecrets],
      store: new SessionStore(store, (error) => logger.warn('a session of the console was not kept', { error })),
      genid: () => randomBytes(32).toString('base64url'),
      cookie: { httpOnly: true, sameSite: 'strict', path: '/', secure },
      // What stands in front speaks plain HTTP to us: its word counts for whether the browser does not.
      ...(secure && { proxy: true }),
      resave: false,
      saveUninitialized: false,
    }),
    async (req, res, next) => {
      const { user: name, userCreatedAtMs } = req.session;
      const user = name === undefined ? undefined : await findUser(store, name);
      // A later user of the same name is another person.
      if (user && user.createdAtMs === userCreatedAtMs) localsOf(res).user = user;
      next();
    },
  ];
}

/** Signs in under a session id that no one has seen before: one that was planted in the browser is worth nothing. */
export async function beginSession(
  req: Request,
  { user, byLink, nowMs }: { user: User; byLink: boolean; nowMs: number },
): Promise<void> {
  await promisify(req.session.regenerate.bind(req.session))();
  const browser = (req.get('user-agent') ?? '').slice(0, 200);
  const { name, createdAtMs: userCreatedAtMs } = user;
  Object.assign(req.session, { user: name, userCreatedAtMs, byLink, createdAtMs: nowMs, browser });
  await promisify(req.session.save.bind(req.session))();
}

export async function leaveSession(req: Request): Promise<void> {
  await promisify(req.session.destroy.bind(req.session))();
}

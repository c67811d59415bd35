import { isUserName, PASSWORD_CHARACTERS, userNameOf } from '@gateway/contracts/console/users';
import { takeOneTimeLink } from '@gateway/store/console/one-time-links';
import { endSessionsOf } from '@gateway/store/console/sessions';
import { findUser, hasThatPassword, setPassword as storePassword, type User } from '@gateway/store/console/users';
import Joi from 'joi';
import type { DashboardDeps } from '../dashboard-deps.js';
import { ConsoleError } from '../http/console-error.js';
import { operation } from '../http/operation.js';
import { beginSession, leaveSession } from '../sessions/load-sessions.js';

const password = Joi.string().max(PASSWORD_CHARACTERS.max).required();

/** What the page shows of a user. */
function describe({ name, role, hasPassword }: User, { publicApiUrl, workspace, simulatorUrl }: DashboardDeps) {
  return {
    user: { name, role, hasPassword },
    api: { url: publicApiUrl.replace(/\/+$/, '') },
    ...{ workspace, isSimulated: simulatorUrl !== undefined },
  };
}

/** `user` is null where no one is signed in: to ask for that is no failure. */
export const showMe = operation({
  method: 'get',
  path: '/me',
  for: 'anyone',
  handle: async ({ visitor }, deps) => ({ body: visitor ? describe(visitor, deps) : { user: null } }),
});

export const signIn = operation<{ name: string; password: string }>({
  method: 'post',
  path: '/sign-in',
  for: 'unknown',
  body: Joi.object({ name: Joi.string().custom(userNameOf).max(64).required(), password }),
  async handle({ req, body: { name, password: given }, signal }, deps) {
    const check = () => hasThatPassword(deps.store, name, given);
    const isRight = isUserName(name) && (await deps.passwords.take(signal, check));
    const user = isRight && (await findUser(deps.store, name));
    if (!user) throw refused(deps, 'wrong_credentials');
    await beginSession(req, { user, byLink: false, nowMs: deps.clock.nowMs() });
    return { body: describe(user, deps), audit: { action: 'session.signed_in', user: name } };
  },
});

/** A link can be used once, whether or not what follows works. */
export const signInByLink = operation<{ secret: string }>({
  method: 'post',
  path: '/sign-in/link',
  for: 'unknown',
  body: Joi.object({ secret: Joi.string().max(100).required() }),
  async handle({ req, body: { secret } }, deps) {
    const user = await takeOneTimeLink(deps.store, secret);
    if (!user) throw refused(deps, 'link_used_up');
    await beginSession(req, { user, byLink: true, nowMs: deps.clock.nowMs() });
    return { body: describe(user, deps), audit: { action: 'session.signed_in', target: 'link', user: user.name } };
  },
});

export const signOut = operation({
  method: 'post',
  path: '/sign-out',
  for: 'viewer',
  async handle({ req }) {
    await leaveSession(req);
    return { body: {}, audit: { action: 'session.signed_out' } };
  },
});

export const signOutEverywhere = operation({
  method: 'post',
  path: '/sign-out-everywhere',
  for: 'viewer',
  async handle({ req, user }, { store }) {
    await endSessionsOf(store, user.name);
    await leaveSession(req);
    return { body: {}, audit: { action: 'session.signed_out_everywhere' } };
  },
});

/** A new password ends all other sessions. The former one is asked for, unless a one-time link signed in. */
export const setPassword = operation<{ password: string; former?: string }>({
  method: 'post',
  path: '/me/password',
  for: 'viewer',
  body: Joi.object({
    password: password.min(PASSWORD_CHARACTERS.min),
    former: Joi.string().max(PASSWORD_CHARACTERS.max),
  }),
  async handle({ req, user, body, signal }, deps) {
    const { store, clock, passwords } = deps;
    const isFormer = () => hasThatPassword(store, user.name, body.former ?? '');
    const needsFormer = user.hasPassword && req.session.byLink !== true;
    if (needsFormer && !(await passwords.take(signal, isFormer))) throw refused(deps, 'wrong_credentials');
    await passwords.take(signal, () => storePassword(store, user.name, body.password));
    await endSessionsOf(store, user.name);
    await beginSession(req, { user, byLink: false, nowMs: clock.nowMs() });
    return { body: describe({ ...user, hasPassword: true }, deps), audit: { action: 'user.password_set' } };
  },
});

function refused({ metrics }: DashboardDeps, code: 'wrong_credentials' | 'link_used_up'): ConsoleError {
  metrics.refusedSignIns.inc();
  return new ConsoleError(code);
}

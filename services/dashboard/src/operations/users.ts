import { isUserName, USER_ROLES, type UserRole } from '@gateway/contracts/console/users';
import type { UserView } from '@gateway/contracts/console/views';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { listSessions } from '@gateway/store/console/sessions';
import {
  createUser as createInStore,
  findUser,
  listUsers as listAll,
  removeUser as removeFromStore,
  setRole,
  type User,
} from '@gateway/store/console/users';
import type { Store } from '@gateway/store/core/store';
import Joi from 'joi';
import { ConsoleError } from '../http/console-error.js';
import { operation } from '../http/operation.js';

const role = Joi.string()
  .valid(...USER_ROLES)
  .required();

export const listUsers = operation({
  method: 'get',
  path: '/users',
  for: 'admin',
  async handle(_call, { store }) {
    const users = await listAll(store);
    return { body: { users: await Promise.all(users.map((user) => describe(user, store))) } };
  },
});

/** Answers with the secret of a link that signs the new user in, once, within ten minutes. */
export const createUser = operation<{ name: string; role: UserRole }>({
  method: 'post',
  path: '/users',
  for: 'admin',
  body: Joi.object({
    name: Joi.string()
      .lowercase()
      .trim()
      .required()
      .custom((value: string) => {
        if (!isUserName(value)) throw new Error('must be the name of a user');
        return value;
      }),
    role,
  }),
  async handle({ body }, { store }) {
    const user = await createInStore(store, body.name, body.role);
    if (!user) throw new ConsoleError('name_taken');
    const secret = await createOneTimeLink(store, user.name);
    const view = await describe(user, store);
    return { status: 201, body: { user: view, secret }, audit: { action: 'user.created', target: user.name } };
  },
});

/** The same for one that is there: who has forgotten a password sets another with it. */
export const makeUserLink = operation({
  method: 'post',
  path: '/users/:name/link',
  for: 'admin',
  async handle({ params: { name = '' } }, { store }) {
    if (!(await findUser(store, name))) throw new ConsoleError('not_found');
    return {
      body: { secret: await createOneTimeLink(store, name) },
      audit: { action: 'user.link_made', target: name },
    };
  },
});

export const setUserRole = operation<{ role: UserRole }>({
  method: 'post',
  path: '/users/:name/role',
  for: 'admin',
  body: Joi.object({ role }),
  async handle({ params: { name = '' }, body, user: self }, { store }) {
    refuseSelf(name, self);
    const user = await setRole(store, name, body.role);
    if (!user) throw new ConsoleError('not_found');
    return {
      body: { user: await describe(user, store) },
      audit: { action: 'user.role_set', target: `${name}: ${body.role}` },
    };
  },
});

/** Ends all that the user is signed in to. */
export const removeUser = operation({
  method: 'post',
  path: '/users/:name/remove',
  for: 'admin',
  async handle({ params: { name = '' }, user: self }, { store }) {
    refuseSelf(name, self);
    if (!(await removeFromStore(store, name))) throw new ConsoleError('not_found');
    return { body: {}, audit: { action: 'user.removed', target: name } };
  },
});

/** So there is always an admin: the last one cannot go. */
function refuseSelf(name: string, self: User): void {
  if (name === self.name) throw new ConsoleError('not_oneself');
}

async function describe({ name, role, hasPassword, createdAtMs }: User, store: Store): Promise<UserView> {
  const sessions = (await listSessions(store, name)).length;
  return { name, role, hasPassword, createdAtMs, sessions };
}

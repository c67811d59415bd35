import type { SessionView } from '@gateway/contracts/console/views';
import { digestOf } from '@gateway/store/console/digest';
import { listSessions as listAll } from '@gateway/store/console/sessions';
import type { SessionData } from 'express-session';
import { operation } from '../http/operation.js';

/** Where the one who asks is signed in. */
export const listSessions = operation({
  method: 'get',
  path: '/me/sessions',
  for: 'viewer',
  async handle({ req, user }, { store }) {
    const here = digestOf(req.sessionID);
    const sessions = (await listAll(store, user.name)).map(({ digest, usedAtMs, record }): SessionView => {
      const { browser } = JSON.parse(record.text) as Partial<SessionData>;
      return {
        ...{ id: digest.slice(0, 12), createdAtMs: record.createdAtMs, isThis: digest === here },
        ...(usedAtMs !== undefined && { lastUsedAtMs: usedAtMs }),
        ...(browser && { browser }),
      };
    });
    return { body: { sessions } };
  },
});

import { askServer } from './ask-server.js';
import type { RedisProcess } from './redis-process.js';

/** Servers of the same Redis, and Sentinels, come as this user, and clients as the default one. */
const MEMBER = 'member';
const PASSWORD = 'known-to-tests';

/** Of a server that others belong to: it tells them from clients, so that one of the two can be shut out. */
export const MEMBERSHIP = {
  password: PASSWORD,
  settings: [
    ...['--requirepass', PASSWORD, '--user', MEMBER, 'on', `>${PASSWORD}`, '~*', '&*', '+@all'],
    ...['--masteruser', MEMBER, '--masterauth', PASSWORD],
  ],
  sentinelSettings: (master: string) => [
    `sentinel auth-user ${master} ${MEMBER}`,
    `sentinel auth-pass ${master} ${PASSWORD}`,
  ],
};

/**
 * Replicas and Sentinels reach the server no more, and clients do. Resolves with what lets them in again.
 * @param companion a replica that is shut out with it, and goes on following it.
 */
export async function shutOutMembers(server: RedisProcess, companion?: RedisProcess): Promise<() => Promise<void>> {
  const all = companion ? [server, companion] : [server];
  if (companion) await askServer(companion.url, 'CONFIG', 'SET', 'masteruser', 'default');
  for (const { url } of all) await askServer(url, 'ACL', 'SETUSER', MEMBER, 'off');
  for (const { url } of all) await askServer(url, 'CLIENT', 'KILL', 'USER', MEMBER);
  return async () => {
    for (const { url } of all) await askServer(url, 'ACL', 'SETUSER', MEMBER, 'on');
    if (companion) await askServer(companion.url, 'CONFIG', 'SET', 'masteruser', MEMBER);
  };
}

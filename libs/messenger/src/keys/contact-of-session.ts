/** Signal addresses as the library writes them: `user[_domain].device`. */
const ADDRESS = /^(\d+)(?:_(\d+))?\.(\d+)$/;
const SERVERS: Record<string, string | undefined> = { 0: 's.whatsapp.net', 1: 'lid' };

/**
 * The jid of the account whose phone a session is with, by the session's id; `undefined` for one with another device of
 * an account, such as a computer.
 */
export function contactOfSession(id: string): string | undefined {
  const [, user, domain = '0', device] = ADDRESS.exec(id) ?? [];
  const server = SERVERS[domain];
  return user && server && device === '0' ? `${user}@${server}` : undefined;
}

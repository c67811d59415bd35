/** Where the Redis of an installation is, as `REDIS_URL` says. */
export type RedisAddress =
  | { kind: 'single'; url: string }
  | ({ kind: 'sentinel'; sentinels: RedisNode[]; master: string; sentinelAccess: RedisAccess } & RedisAccess & {
        db: number;
      })
  | ({ kind: 'cluster'; nodes: RedisNode[] } & RedisAccess);

export interface RedisNode {
  host: string;
  port: number;
}

export interface RedisAccess {
  username?: string;
  password?: string;
  isTls: boolean;
}

const SHAPE =
  /^(?<scheme>rediss?)\+(?<kind>sentinel|cluster):\/\/(?:(?<user>[^@/?]*)@)?(?<hosts>[^@/?]+)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/;
const HOST = /^(?:\[(?<v6>[0-9a-fA-F:]+)\]|(?<name>[A-Za-z0-9._-]+))(?::(?<port>\d{1,5}))?$/;
const DEFAULT_PORTS = { sentinel: 26_379, cluster: 6_379 };
const SENTINEL_PARAMETERS = ['sentinelUsername', 'sentinelPassword'];

/**
 * Reads a Redis URL. Beside `redis://` and `rediss://` (TLS) of one server there are
 * `redis+sentinel://[user:password@]host[:26379],.../MASTER[/DB][?sentinelUsername=..&sentinelPassword=..]` and
 * `redis+cluster://[user:password@]host[:6379],...`, each with `rediss` for TLS.
 * @throws Error that says what is wrong, without the password.
 */
export function parseRedisUrl(url: string): RedisAddress {
  if (/^rediss?:\/\//.test(url)) {
    refuseWrongParts(url);
    return { kind: 'single', url };
  }
  const parts = SHAPE.exec(url)?.groups;
  if (!parts) throw new Error('must begin with redis://, rediss://, redis+sentinel:// or redis+cluster://');
  const kind = parts.kind as 'sentinel' | 'cluster';
  const isTls = parts.scheme === 'rediss';
  const nodes = parts.hosts!.split(',').map((host) => parseNode(host, DEFAULT_PORTS[kind]));
  const path = (parts.path ?? '').split('/').filter((part) => part !== '');
  const query = parseQuery(parts.query);
  const access = { ...parseUser(parts.user), isTls };
  if (kind === 'cluster') {
    if (path.length > 0) throw new Error('names a database, which a Redis Cluster does not have');
    refuseOthers(query, []);
    return { kind, nodes, ...access };
  }
  refuseOthers(query, SENTINEL_PARAMETERS);
  const [master, db = '0', ...rest] = path;
  if (!master || rest.length > 0)
    throw new Error('must end with the name of the master, as in redis+sentinel://host/mymaster');
  const [username, password] = SENTINEL_PARAMETERS.map((name) => query.get(name));
  const sentinelAccess = { ...(username && { username }), ...(password && { password }), isTls };
  return { kind, sentinels: nodes, master: decode(master), db: parseDatabase(db), sentinelAccess, ...access };
}

/** Of one server: it is read by ioredis, which says less clearly what is wrong. */
function refuseWrongParts(url: string): void {
  if (!URL.canParse(url)) throw new Error('is not a Redis URL');
  const { username, password, pathname, searchParams } = new URL(url);
  for (const part of [username, password]) decode(part);
  for (const db of [pathname.replaceAll('/', ''), searchParams.get('db') ?? '']) if (db !== '') parseDatabase(db);
}

/** @throws for what ioredis would take for database 0. */
function parseDatabase(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error('has a database that is no number');
  return Number(text);
}

function parseNode(text: string, defaultPort: number): RedisNode {
  const found = HOST.exec(text)?.groups;
  const port = Number(found?.port ?? defaultPort);
  if (!found || port < 1 || port > 65_535) throw new Error('has a host that is not written as HOST or HOST:PORT');
  return { host: (found.v6 ?? found.name)!, port };
}

function parseUser(text: string | undefined): Pick<RedisAccess, 'username' | 'password'> {
  if (text === undefined) return {};
  const [username = '', ...password] = text.split(':');
  return {
    ...(username !== '' && { username: decode(username) }),
    ...(password.length > 0 && { password: decode(password.join(':')) }),
  };
}

/** Not by `URLSearchParams`, which takes the `+` of a password for a space. */
function parseQuery(text = ''): Map<string, string> {
  const pairs = text.split('&').filter((pair) => pair !== '');
  return new Map(
    pairs.map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return [decode(name), decode(value.join('='))];
    }),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('has a % that begins no character: write %25 for a % itself');
  }
}

/** A misspelt one would be silently without effect. */
function refuseOthers(query: ReadonlyMap<string, string>, known: readonly string[]): void {
  const other = [...query.keys()].find((name) => !known.includes(name));
  if (other !== undefined) throw new Error(`has an unknown parameter, ${other}`);
}

import type { Redis } from 'ioredis';
import { GatewayError } from '../errors.js';
import { addressOfNode, isCluster, masterNodes } from './redis-nodes.js';

/** The oldest version whose scripts can say that they run also when it is full. */
const MINIMUM_VERSION = [7, 0] as const;

/** A Redis that has as many connections refuses new ones, those of processes that replace others, too. */
const NEARLY_ALL_CLIENTS = 0.8;

/**
 * Throws `redis_settings` when this Redis could lose messages: a process that starts on it must not go on.
 * @param options.withoutAof the operator accepts that its restart loses what it has accepted since its last snapshot.
 * A node of a Cluster that is away keeps no process from serving the others: it is only told of.
 * @returns what an operator should know of one that is taken all the same. Reads `INFO` only, which managed services allow too.
 */
export async function refuseWrongSettings(
  client: Redis,
  { withoutAof = false }: { withoutAof?: boolean } = {},
): Promise<string[]> {
  const { infos, silent } = await readInfos(client);
  const ofAll = (find: (info: Info) => string[]) => [...new Set(infos.flatMap(find))];
  const noAof = ofAll(findVolatile);
  const wrongKind = isCluster(client) ? [] : ofAll(findCluster);
  const problems = [...ofAll(findProblems), ...wrongKind, ...(withoutAof ? [] : noAof)];
  if (problems.length === 0) return [...silent, ...ofAll(findDoubts), ...noAof];
  throw new GatewayError({
    code: 'redis_settings',
    message: `Redis is not fit to hold messages: ${problems.join('; ')}`,
  });
}

/** Throws when no node answers. */
async function readInfos(client: Redis): Promise<{ infos: Info[]; silent: string[] }> {
  const nodes = masterNodes(client);
  const answers = await Promise.allSettled(nodes.map(async (node) => parseInfo(await node.info())));
  const infos = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const failure = answers.find((answer) => answer.status === 'rejected');
  if (failure && infos.length === 0) throw failure.reason;
  const away = nodes.filter((_, i) => answers[i]?.status === 'rejected');
  return {
    infos,
    silent: away.map((node) => `${addressOfNode(node)} does not answer, and its settings are not known`),
  };
}

function findDoubts({ connected_clients: connected, maxclients: most }: Info): string[] {
  if (Number(connected) < Number(most) * NEARLY_ALL_CLIENTS || most === undefined) return [];
  return [`maxclients is ${most}, and ${connected} are connected: beyond it processes cannot start`];
}

function findVolatile({ aof_enabled: isOn }: Info): string[] {
  return isOn === '1' ? [] : ['appendonly is off, must be on: a restart would lose accepted messages'];
}

/** Through one address only the keys of one node could be reached. */
function findCluster({ cluster_enabled: isOn }: Info): string[] {
  return isOn === '1' ? ['it is a Redis Cluster: REDIS_URL must begin with redis+cluster:// or rediss+cluster://'] : [];
}

function findProblems(info: Info): string[] {
  const problems: string[] = [];
  if (!isRecent(info.redis_version)) {
    problems.push(`version is ${info.redis_version}, at least ${MINIMUM_VERSION.join('.')} is needed`);
  }
  if (info.maxmemory_policy !== 'noeviction') {
    problems.push(`maxmemory-policy is ${info.maxmemory_policy}, must be noeviction: others drop messages silently`);
  }
  return problems;
}

type Info = Record<string, string | undefined>;

function parseInfo(text: string): Info {
  const pairs = text.split(/\r?\n/).flatMap((line) => {
    const at = line.indexOf(':');
    return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : [];
  });
  return Object.fromEntries(pairs);
}

function isRecent(version = ''): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MINIMUM_VERSION[0] || (major === MINIMUM_VERSION[0] && minor >= MINIMUM_VERSION[1]);
}

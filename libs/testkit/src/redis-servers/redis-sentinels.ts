import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually.js';
import { askServer } from './ask-server.js';
import { MEMBERSHIP, shutOutMembers } from './membership.js';
import { RedisProcess, type RedisProcessOptions } from './redis-process.js';

/** A real master with replicas, and Sentinels that put one of them in its place. */
export interface RedisSentinels {
  url: string;
  /** The first is the master at the beginning. */
  servers: RedisProcess[];
  sentinels: RedisProcess[];
  /** The server that the Sentinels take for the master now. */
  findMaster(): Promise<RedisProcess>;
  /** All Sentinels know that this one is the master, and that it is well. */
  agreeOn(master: RedisProcess): Promise<boolean>;
  /** `SENTINEL FAILOVER`. The old master takes writes for some seconds more, and forgets them. */
  failOver(): Promise<void>;
  /** Replicas and Sentinels reach this server no more, and clients do; nor the replica that goes along. Resolves with what heals it. */
  cutOff(server: RedisProcess, companion?: RedisProcess): Promise<() => Promise<void>>;
  /** One more Sentinel, on the machine of this server: cut off with it, it goes on naming it. Resolves with a URL that names it first. */
  addBeside(server: RedisProcess): Promise<string>;
  stop(): Promise<void>;
}

const MASTER = 'gateway';
/** A Sentinel that reaches one server alone comes as this user. */
const NEIGHBOUR = 'neighbour';
const DOWN_AFTER_MS = 1_500;
const FAILOVER_TIMEOUT_MS = 5_000;

/** @param options.settings of the master and its replicas. */
export async function startRedisSentinels({
  replicas = 2,
  sentinels: sentinelCount = 3,
  logFolder,
  settings = [],
}: { replicas?: number; sentinels?: number } & RedisProcessOptions = {}): Promise<RedisSentinels> {
  const logs = logFolder ? { logFolder } : {};
  const { password } = MEMBERSHIP;
  const own = [
    ...MEMBERSHIP.settings,
    '--repl-diskless-sync-delay',
    '0',
    '--repl-timeout',
    '10',
    '--repl-ping-replica-period',
    '2',
    ...settings,
  ];
  const master = await RedisProcess.start({ ...logs, password, settings: own });
  const followers = await Promise.all(
    Array.from({ length: replicas }, () =>
      RedisProcess.start({ ...logs, password, settings: [...own, '--replicaof', `127.0.0.1 ${master.port}`] }),
    ),
  );
  const folder = mkdtempSync(join(tmpdir(), 'gateway-sentinels-'));
  const sentinels = await Promise.all(
    Array.from({ length: sentinelCount }, async (_, i) => {
      const file = join(folder, `sentinel-${i}.conf`);
      writeFileSync(file, sentinelSettings(master.port, Math.floor(sentinelCount / 2) + 1));
      return RedisProcess.start({ ...logs, sentinelFile: file });
    }),
  );
  const url = `redis+sentinel://:${password}@${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${MASTER}`;
  const servers = [master, ...followers];
  const besides: RedisProcess[] = [];
  await eventually(
    async () => {
      const known = await Promise.all(sentinels.map(({ port }) => askSentinel(port, 'MASTER')));
      return known.every(
        (fields) =>
          fields['num-slaves'] === String(replicas) && fields['num-other-sentinels'] === String(sentinelCount - 1),
      );
    },
    { everyMs: 100, what: 'the Sentinels know each other and the replicas' },
  );
  const findMaster = async () => {
    for (const { port } of sentinels) {
      const fields = await askSentinel(port, 'MASTER').catch(() => undefined);
      const found = servers.find((server) => String(server.port) === fields?.port);
      if (found) return found;
    }
    throw new Error('no Sentinel answers');
  };
  return {
    ...{ url, servers, sentinels, findMaster },
    agreeOn: async (master) => {
      const known = await Promise.all(sentinels.map(({ port }) => askSentinel(port, 'MASTER')));
      return known.every(({ port, flags }) => port === String(master.port) && flags === 'master');
    },
    failOver: async () => {
      const order = () => askServer(sentinels[0]!.url, 'SENTINEL', 'FAILOVER', MASTER);
      await eventually(order, { everyMs: 200 });
    },
    cutOff: shutOutMembers,
    addBeside: async (server) => {
      await askServer(server.url, 'ACL', 'SETUSER', NEIGHBOUR, 'on', `>${password}`, '~*', '&*', '+@all');
      const file = join(folder, `beside-${server.port}.conf`);
      writeFileSync(file, neighbourSettings(server.port, sentinelCount));
      const neighbour = await RedisProcess.start({ ...logs, sentinelFile: file });
      besides.push(neighbour);
      await eventually(
        async () => (await askSentinel(neighbour.port, 'MASTER'))['num-other-sentinels'] === String(sentinelCount),
        { everyMs: 100, what: 'the Sentinel beside the server knows the others' },
      );
      return url.replace('@', `@127.0.0.1:${neighbour.port},`);
    },
    stop: async () => {
      await Promise.all([...besides, ...sentinels, ...servers].map((server) => server.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function sentinelSettings(masterPort: number, quorum: number, more = MEMBERSHIP.sentinelSettings(MASTER)): string {
  return [
    `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} ${quorum}`,
    `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER} ${FAILOVER_TIMEOUT_MS}`,
    ...more,
    '',
  ].join('\n');
}

/** It hears the others through this server alone, which none but it reaches as this user, and they cannot reach it. */
function neighbourSettings(masterPort: number, others: number): string {
  return sentinelSettings(masterPort, Math.floor(others / 2) + 1, [
    `sentinel auth-user ${MASTER} ${NEIGHBOUR}`,
    `sentinel auth-pass ${MASTER} ${MEMBERSHIP.password}`,
    'sentinel announce-ip 127.0.0.99',
    'sentinel announce-port 1',
  ]);
}

/** What a Sentinel answers to a question about the master. */
async function askSentinel(port: number, question: string): Promise<Record<string, string>> {
  const fields = (await askServer(`redis://127.0.0.1:${port}`, 'SENTINEL', question, MASTER)) as string[];
  return Object.fromEntries(fields.flatMap((field, i) => (i % 2 === 0 ? [[field, fields[i + 1]!]] : [])));
}

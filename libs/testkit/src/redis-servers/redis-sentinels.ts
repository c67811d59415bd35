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
  stop(): Promise<void>;
}

const MASTER = 'gateway';
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
  const own = [...MEMBERSHIP.settings, '--repl-diskless-sync-delay', '0', '--repl-timeout', '10', ...settings];
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
    stop: async () => {
      await Promise.all([...sentinels, ...servers].map((server) => server.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function sentinelSettings(masterPort: number, quorum: number): string {
  return [
    `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} ${quorum}`,
    `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER} ${FAILOVER_TIMEOUT_MS}`,
    ...MEMBERSHIP.sentinelSettings(MASTER),
    '',
  ].join('\n');
}

/** What a Sentinel answers to a question about the master. */
async function askSentinel(port: number, question: string): Promise<Record<string, string>> {
  const fields = (await askServer(`redis://127.0.0.1:${port}`, 'SENTINEL', question, MASTER)) as string[];
  return Object.fromEntries(fields.flatMap((field, i) => (i % 2 === 0 ? [[field, fields[i + 1]!]] : [])));
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SLOTS } from '@gateway/runtime/redis/redis-nodes';
import { makeTlsIdentity } from '@gateway/simulator/http/self-signed';
import { eventually } from '../eventually.js';
import { askServer } from './ask-server.js';
import { RedisProcess } from './redis-process.js';
import { findSteadyPort } from './steady-port.js';

/** Servers that are reached by TLS, whose certificate names `localhost` and no address, and without it by their own URLs. */
export interface TlsRedis {
  /** What clients must trust. */
  certificateFile: string;
  clusterUrl: string;
  sentinelUrl: string;
  nodes: RedisProcess[];
  master: RedisProcess;
  sentinel: RedisProcess;
  stop(): Promise<void>;
}

const NODES = 3;

/** A Cluster of three nodes, and a master with one Sentinel. */
export async function startTlsRedis(): Promise<TlsRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
  const { key, cert } = await makeTlsIdentity('localhost', { alone: true });
  const certificateFile = join(folder, 'certificate.pem');
  const keyFile = join(folder, 'key.pem');
  writeFileSync(certificateFile, cert);
  writeFileSync(keyFile, key);
  const [masterPort, sentinelPort] = await Promise.all([1, 2].map(findSteadyPort));
  const options = (port: number) => [
    ...[`tls-port ${port}`, `tls-cert-file ${certificateFile}`, `tls-key-file ${keyFile}`],
    ...[`tls-ca-cert-file ${certificateFile}`, 'tls-auth-clients no'],
  ];
  const asArguments = (lines: string[]) => lines.flatMap((line) => `--${line}`.split(' '));
  const startNode = async () => {
    const [port, busPort] = (await Promise.all([1, 2].map(findSteadyPort))) as [number, number];
    const node = await RedisProcess.start({
      settings: asArguments([
        ...[...options(port), 'cluster-enabled yes', 'tls-cluster yes', `cluster-port ${busPort}`],
        ...['cluster-announce-hostname localhost', 'cluster-preferred-endpoint-type hostname'],
      ]),
    });
    return { node, port, busPort };
  };
  const cluster = await Promise.all(Array.from({ length: NODES }, startNode));
  const master = await RedisProcess.start({ settings: asArguments(options(masterPort!)) });
  const names = ['sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'];
  const watch = `sentinel monitor gateway localhost ${masterPort} 1`;
  const sentinelSettings = [...options(sentinelPort!), 'tls-replication yes', ...names, watch, ''].join('\n');
  const sentinel = await RedisProcess.start({ sentinel: sentinelSettings });
  const surely = (work: () => Promise<unknown>) => eventually(work, { everyMs: 50 });
  const [first] = cluster as [(typeof cluster)[number]];
  for (const [i, { node, port, busPort }] of cluster.entries()) {
    const [begin, end] = [i, i + 1].map((at) => Math.floor((SLOTS * at) / NODES)) as [number, number];
    await surely(() => askServer(node.url, 'CLUSTER', 'ADDSLOTSRANGE', begin, end - 1));
    if (node !== first.node)
      await surely(() => askServer(first.node.url, 'CLUSTER', 'MEET', '127.0.0.1', port, busPort));
  }
  const isWhole = async ({ node }: (typeof cluster)[number]) =>
    /cluster_state:ok.*cluster_known_nodes:3/s.test(String(await askServer(node.url, 'CLUSTER', 'INFO')));
  await eventually(async () => (await Promise.all(cluster.map(isWhole))).every(Boolean), {
    ...{ everyMs: 50, what: 'the nodes know each other' },
  });
  for (const { url } of [master, sentinel]) await surely(() => askServer(url, 'PING'));
  return {
    ...{ certificateFile, nodes: cluster.map(({ node }) => node), master, sentinel },
    // One of them: the others are learned.
    clusterUrl: `rediss+cluster://localhost:${first.port}`,
    sentinelUrl: `rediss+sentinel://localhost:${sentinelPort}/gateway`,
    stop: async () => {
      await Promise.all([...cluster.map(({ node }) => node), master, sentinel].map((each) => each.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  node: RedisProcess;
  master: RedisProcess;
  sentinel: RedisProcess;
  stop(): Promise<void>;
}

const SLOTS = 16_384;

/** A Cluster of one node, and a master with one Sentinel. */
export async function startTlsRedis(): Promise<TlsRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
  const { key, cert } = await makeTlsIdentity('localhost', { alone: true });
  const certificateFile = join(folder, 'certificate.pem');
  const keyFile = join(folder, 'key.pem');
  writeFileSync(certificateFile, cert);
  writeFileSync(keyFile, key);
  const [nodePort, busPort, masterPort, sentinelPort] = await Promise.all([1, 2, 3, 4].map(findSteadyPort));
  const options = (port: number) => [
    ...[`tls-port ${port}`, `tls-cert-file ${certificateFile}`, `tls-key-file ${keyFile}`],
    ...[`tls-ca-cert-file ${certificateFile}`, 'tls-auth-clients no'],
  ];
  const asArguments = (lines: string[]) => lines.flatMap((line) => `--${line}`.split(' '));
  const node = await RedisProcess.start({
    settings: asArguments([
      ...[...options(nodePort!), 'cluster-enabled yes', 'tls-cluster yes', `cluster-port ${busPort}`],
      ...['cluster-announce-hostname localhost', 'cluster-preferred-endpoint-type hostname'],
    ]),
  });
  const master = await RedisProcess.start({ settings: asArguments(options(masterPort!)) });
  const names = ['sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'];
  const watch = `sentinel monitor gateway localhost ${masterPort} 1`;
  const sentinelSettings = [...options(sentinelPort!), 'tls-replication yes', ...names, watch, ''].join('\n');
  const sentinel = await RedisProcess.start({ sentinel: sentinelSettings });
  const surely = (work: () => Promise<unknown>) => eventually(work, { everyMs: 50 });
  await surely(() => askServer(node.url, 'CLUSTER', 'ADDSLOTSRANGE', 0, SLOTS - 1));
  for (const { url } of [master, sentinel]) await surely(() => askServer(url, 'PING'));
  return {
    ...{ certificateFile, node, master, sentinel },
    clusterUrl: `rediss+cluster://localhost:${nodePort}`,
    sentinelUrl: `rediss+sentinel://localhost:${sentinelPort}/gateway`,
    stop: async () => {
      await Promise.all([node, master, sentinel].map((each) => each.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

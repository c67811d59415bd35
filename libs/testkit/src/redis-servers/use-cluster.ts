import { appendFileSync } from 'node:fs';
import { eventually } from '../eventually.js';
import { allScripts } from './all-scripts.js';
import { askServer } from './ask-server.js';
import { type RedisCluster, startRedisCluster } from './redis-cluster.js';

let cluster: RedisCluster | undefined;

/**
 * What needs a Redis gets a Cluster of three masters.
 * @public mocha loads it by its path.
 */
export async function mochaGlobalSetup(): Promise<void> {
  cluster = await startRedisCluster();
  // biome-ignore lint/style/noProcessEnv: as the launcher sets it for other runs.
  process.env.REDIS_URL = cluster.url;
}

/**
 * Tells the launcher which scripts there are, and which of them ran on one of the masters, which keep those that did.
 * @public
 */
export async function mochaGlobalTeardown(): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: as above.
  const { SCRIPTS_FILE: file } = process.env;
  if (!cluster) return;
  try {
    if (file) await writeScripts(file, cluster);
  } finally {
    await cluster.stop();
  }
}

/** Also of those that no test has loaded. */
async function writeScripts(file: string, { shards }: RedisCluster): Promise<void> {
  const scripts = await allScripts();
  const shas = scripts.map(({ onCluster }) => onCluster.sha);
  const ask = () =>
    Promise.all(shards.map(({ master }) => askServer(master.url, 'SCRIPT', 'EXISTS', ...shas) as Promise<number[]>));
  const known = await eventually(ask, { what: 'the masters tell of their scripts' });
  for (const [at, { name }] of scripts.entries()) {
    appendFileSync(file, `${name} ${known.some((each) => each[at] === 1) ? 'ran' : 'not'}\n`);
  }
}

import { mkdirSync } from 'node:fs';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { launcherConfig } from '../config.js';
import { STATE_FOLDER } from '../paths.js';
import { startEmbeddedRedis } from '../redis/start-embedded-redis.js';
import { type Network, placeOf } from './choose-network.js';
import { readOrMakeEncryptionKeys } from './encryption-keys.js';

export interface LocalEnvironment {
  /** For the services and the command line. */
  env: { REDIS_URL: string; KEY_PREFIX: string; CREDENTIAL_KEYS: string; CONTENT_KEYS: string };
  /** Where the files are that belong to the data. */
  folder: string;
  /** Where the data is, for people. */
  data: string;
}

/**
 * Redis and keys of `npm start` and `npm run cli`, kept between runs: the Redis of `REDIS_URL`, else an embedded one.
 * What belongs to a simulator or another stand-in is kept apart, also under a given `KEY_PREFIX` and from other simulators:
 * its accounts must never be tried on the real network, nor on another.
 */
export async function openLocalEnvironment(lifecycle: Lifecycle, network: Network): Promise<LocalEnvironment> {
  const { redisUrl, keyPrefix } = launcherConfig;
  const place = placeOf(network);
  const folder = `${STATE_FOLDER}/${place.folder}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    env: {
      REDIS_URL: redisUrl ?? (await startEmbeddedRedis(lifecycle, { folder: `${folder}/redis` })),
      KEY_PREFIX: `${keyPrefix ?? 'gw'}${place.keySuffix}`,
      CREDENTIAL_KEYS: launcherConfig.credentialKeys ?? readOrMakeEncryptionKeys(`${folder}/credential-keys`),
      CONTENT_KEYS: launcherConfig.contentKeys ?? readOrMakeEncryptionKeys(`${folder}/content-keys`),
    },
    folder,
    data: redisUrl ? 'the Redis of REDIS_URL' : folder,
  };
}

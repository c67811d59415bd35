import { shardKeys } from '@gateway/contracts/redis-keys';
import { sleep, systemClock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import type { RedisClients, RedisPurpose } from '@gateway/runtime/redis/redis-clients';
import { isNamedByMostSentinels, sentinelsOf } from '@gateway/runtime/redis/sentinels/sentinel-connector';
import type { Store } from '@gateway/store/core/store';
import { Standing } from './standing.js';

/** Replicas that are there answer sooner. Those that are not hold up what follows by no more. */
const SOON_MS = 250;

interface StandingOptions {
  /** By which connection the Sentinels are known. */
  redis: Store['redis'];
  /** Replicas have what was written until now to the master of this key. */
  confirmWrites: (key: string) => Promise<void>;
  logger: Logger;
  /** Of a session. */
  ttlMs: number;
}

/**
 * Whether the master is still the one that the others go by. `undefined` where it is not asked: without replicas that are waited for, and
 * on a Cluster, whose masters stop by themselves when most of them are away. A single address says nothing of who stands behind it.
 */
export function standingOf(
  store: Store,
  { redis, confirmWrites, logger, ttlMs }: StandingOptions,
): Standing | undefined {
  if (!store.asksReplicas || sentinelsOf(redis).length === 0) return undefined;
  const { writable } = shardKeys(store.space, 0);
  return new Standing({
    masterStands: async () => {
      const confirmed = confirmWrites(writable).then(
        () => true,
        () => false,
      );
      if (await Promise.race([confirmed, sleep(SOON_MS).then(() => false)])) return true;
      // While replicas are away a master is what most Sentinels say.
      return isAnyTrue([confirmed, isNamedByMostSentinels(redis)]);
    },
    ...{ clock: systemClock, logger, freshMs: ttlMs / 4 },
  });
}

/** The same for all roles of a process; a check of its readiness. */
export function watchMaster(
  host: ProcessHost<never>,
  store: Store,
  config: { SESSION_TTL_MS: number },
): Standing | undefined {
  return host.share('standing of the master', () => {
    // By the connection that renews sessions, where there is one: it may lead to another master than the others.
    const redis = (host.clients as Partial<RedisClients<RedisPurpose>>).sessions ?? store.redis;
    const standing = standingOf(store, {
      ...{ redis, confirmWrites: (key) => host.confirmWrites(redis, key) },
      ...{ logger: host.lifecycle.logger, ttlMs: config.SESSION_TTL_MS },
    });
    if (!standing) return undefined;
    host.addCheck('master', async () => {
      // One that is away is no reason: see `startProcessHost`.
      if (redis.status === 'ready') await standing.assert();
    });
    return standing;
  });
}

/** As soon as one says so. None of them may reject. */
function isAnyTrue(answers: readonly Promise<boolean>[]): Promise<boolean> {
  return new Promise((resolve) => {
    for (const answer of answers) void answer.then((isTrue) => isTrue && resolve(true));
    void Promise.all(answers).then((all) => resolve(all.includes(true)));
  });
}

import { shardKeys } from '@gateway/contracts/redis-keys';
import { sleep, systemClock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import type { RedisClients, RedisPurpose } from '@gateway/runtime/redis/redis-clients';
import { isNamedByMostSentinels, sentinelsOf } from '@gateway/runtime/redis/sentinels/sentinel-connector';
import type { Redis } from 'ioredis';
import type { Store } from '../store.js';
import { Standing } from './standing.js';

/** Replicas that are there answer sooner. Those that are not hold up what follows by no more. */
const SOON_MS = 250;
/** As long as what was read of a token is believed: one that the next master has revoked lives no longer for it. */
const REQUESTS_FRESH_MS = 1_000;

interface StandingOptions {
  /** By which connection the Sentinels are known. */
  redis: Redis;
  /** Replicas have what was written until now to the master of this key. */
  confirmWrites: (key: string) => Promise<void>;
  logger: Logger;
  freshMs: number;
  /** See `Standing`. */
  meanwhile: string;
}

/**
 * Whether the master is still the one that the others go by. `undefined` where it is not asked: without replicas that are waited for, and
 * on a Cluster, whose masters stop by themselves when most of them are away. A single address says nothing of who stands behind it.
 */
export function standingOf(
  store: Store,
  { redis, confirmWrites, logger, freshMs, meanwhile }: StandingOptions,
): Standing | undefined {
  if (!store.asksReplicas || sentinelsOf(redis).length === 0) return undefined;
  const { writable } = shardKeys(store.space, 0);
  let didConfirm = true;
  return new Standing({
    masterStands: async () => {
      const confirmed = confirmWrites(writable).then(
        () => true,
        () => false,
      );
      // Replicas that did not the last time hold up nothing: requests would wait for them again and again.
      const soonMs = didConfirm ? SOON_MS : 0;
      void confirmed.then((did) => {
        didConfirm = did;
      });
      if (await Promise.race([confirmed, sleep(soonMs).then(() => false)])) return true;
      // While replicas are away a master is what most Sentinels say.
      return isAnyTrue([confirmed, isNamedByMostSentinels(redis)]);
    },
    ...{ clock: systemClock, logger, freshMs, meanwhile },
  });
}

/** The same for what a process holds by sessions, for all of its roles; a check of its readiness. */
export function watchMaster(
  host: ProcessHost<never>,
  store: Store,
  config: { SESSION_TTL_MS: number },
): Standing | undefined {
  return host.share('standing of the master', () =>
    watch(host, store, {
      // By the connection that renews sessions, where there is one: it may lead to another master than the others.
      redis: (host.clients as Partial<RedisClients<RedisPurpose>>).sessions ?? store.redis,
      ...{ freshMs: config.SESSION_TTL_MS / 4, meanwhile: 'devices are held no longer' },
    }),
  );
}

/** The same for what it answers requests by. */
export function watchMasterOfRequests(host: ProcessHost<never>, store: Store): Standing | undefined {
  return host.share('standing of the master of requests', () =>
    watch(host, store, {
      redis: store.redis,
      ...{ freshMs: REQUESTS_FRESH_MS, meanwhile: 'requests are refused' },
    }),
  );
}

function watch(
  host: ProcessHost<never>,
  store: Store,
  { redis, ...options }: Pick<StandingOptions, 'redis' | 'freshMs' | 'meanwhile'>,
): Standing | undefined {
  const confirmWrites = (key: string) => host.confirmWrites(redis, key);
  const standing = standingOf(store, { redis, confirmWrites, logger: host.lifecycle.logger, ...options });
  if (standing) checkOf(host).push({ redis, standing });
  return standing;
}

interface Watched {
  redis: Redis;
  standing: Standing;
}

/** One check for all connections whose master is watched. */
function checkOf(host: ProcessHost<never>): Watched[] {
  return host.share('watched masters', () => {
    const watched: Watched[] = [];
    host.addCheck('master', async () => {
      // One that is away is no reason: see `startProcessHost`.
      for (const { redis, standing } of watched) if (redis.status === 'ready') await standing.assert();
    });
    return watched;
  });
}

/** As soon as one says so. None of them may reject. */
function isAnyTrue(answers: readonly Promise<boolean>[]): Promise<boolean> {
  return new Promise((resolve) => {
    for (const answer of answers) void answer.then((isTrue) => isTrue && resolve(true));
    void Promise.all(answers).then((all) => resolve(all.includes(true)));
  });
}

import type { Random } from '../random.js';

/** What befell Redis, with times in Unix ms. */
export interface RedisBlow {
  what: string;
  fromMs: number;
  untilMs: number;
}

/** The Redis of a chaos run: real servers, which are thrown away with it. */
export interface RedisOfRun {
  url: string;
  /** Of its blows among all to the gateway, beside nine others. 0: one is not over. */
  readonly weight: number;
  /** Whether a loss breaks a promise: where replicas are asked to confirm, or there is no failover. */
  keepsPromises: boolean;
  readonly blows: readonly RedisBlow[];
  /** Kinds of blows that have not come yet. */
  readonly spared: readonly string[];
  /** One blow, until it is over. `false`: another one is not, and nothing was done. */
  hurt(random: Random): Promise<{ isKill: boolean } | false>;
  /** Commands, in order: all that was ever written. Not where several servers have each a part of it. */
  written?(): Iterable<readonly Buffer[]>;
  /** All servers are up, and replicas follow their masters. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

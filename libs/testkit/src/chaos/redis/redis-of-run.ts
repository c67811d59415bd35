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
  /** Of all blows to the gateway, beside nine others. */
  weight: number;
  /** Whether a loss breaks a promise: where replicas are asked to confirm, or there is no failover. */
  keepsPromises: boolean;
  readonly blows: readonly RedisBlow[];
  /** Each kind of blow has come once. */
  readonly hasHadAll: boolean;
  /** One blow, until it is over. `false`: another one is not. */
  hurt(random: Random): Promise<{ isKill: boolean } | false>;
  /** All servers are up, and replicas follow their masters. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

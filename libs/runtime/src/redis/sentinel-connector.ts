import { type Redis, type RedisOptions, SentinelConnector } from 'ioredis';

type Asks = { connectToSentinel(...args: unknown[]): Redis };

/**
 * As that of ioredis, which writes to stderr whenever a Sentinel is away from which it hears of failovers: there are others, and
 * it connects again.
 */
const Quiet = class extends (SentinelConnector as unknown as new (options: unknown) => Asks) {
  override connectToSentinel(...args: unknown[]): Redis {
    return super.connectToSentinel(...args).on('error', () => {});
  }
};

export const QuietSentinelConnector = Quiet as unknown as RedisOptions['Connector'];

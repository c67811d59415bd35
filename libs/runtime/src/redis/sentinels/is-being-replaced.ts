import { Redis } from 'ioredis';
import { sentinelsOf } from './sentinel-connector.js';

const TIMEOUT_MS = 1_000;
const REPLACED = /\b(o_down|failover_in_progress)\b/;

/**
 * Whether a Sentinel gives the present master up, or is just electing another one: the old one does not know, and its clients are
 * told last. `false` without Sentinels. One that does not answer in a second has no say.
 * @param redis a client of the master.
 */
export async function isBeingReplaced(redis: Redis): Promise<boolean> {
  const { name, sentinelUsername, sentinelPassword, sentinelTLS } = redis.options;
  const access = {
    ...(sentinelUsername && { username: sentinelUsername }),
    ...(sentinelPassword && { password: sentinelPassword }),
    ...(sentinelTLS && { tls: sentinelTLS }),
  };
  const said = await Promise.all(
    sentinelsOf(redis).map(async (address) => {
      const limits = { connectTimeout: TIMEOUT_MS, commandTimeout: TIMEOUT_MS, retryStrategy: () => null };
      const sentinel = new Redis({ ...address, ...access, ...limits, disableClientInfo: true });
      sentinel.on('error', () => {});
      try {
        const fields = (await sentinel.call('SENTINEL', 'MASTER', name!)) as string[];
        return REPLACED.test(fields[fields.indexOf('flags') + 1] ?? '');
      } catch {
        return false;
      } finally {
        sentinel.disconnect();
      }
    }),
  );
  return said.includes(true);
}

import { randomUUID } from 'node:crypto';
import { doorbellChannel, type KeySpace } from '@gateway/contracts/redis-keys';
import { addMetrics, gauge, type Registry } from '@gateway/runtime/process/metrics';
import type { Redis } from 'ioredis';

export const DOORBELL_METRICS = {
  lag: gauge('gateway_doorbell_lag_seconds', {
    help: 'Time from a doorbell that this process rang at the scrape before to its arrival here; it grows while none arrives.',
    question: 'Do processes hear at once of what others do, or half a minute later?',
  }),
} as const;

interface Echo {
  text: string;
  rungAtMs: number;
  lagMs?: number;
}

/** One doorbell for each scrape, which nothing else understands. @param subscriber listens to doorbells already. */
export function addDoorbellLag(
  registry: Registry,
  { subscriber, redis, space }: { subscriber: Redis; redis: Redis; space: KeySpace },
): void {
  const [self, channel] = [randomUUID(), doorbellChannel(space)];
  let rung = 0;
  let echo: Echo | undefined;
  subscriber.on('message', (_channel: string, text: string) => {
    if (text === echo?.text) echo.lagMs ??= performance.now() - echo.rungAtMs;
  });
  addMetrics(registry, DOORBELL_METRICS, {
    lag: (lag) => {
      if (echo) lag.set((echo.lagMs ?? performance.now() - echo.rungAtMs) / 1000);
      // One that has not arrived goes on being late.
      if (echo && echo.lagMs === undefined) return;
      echo = { text: `echo ${self} ${++rung}`, rungAtMs: performance.now() };
      redis.publish(channel, echo.text).catch(() => {});
    },
  });
}

import type { Clock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import { type SurveyedWorkspaces, surveyWebhooks } from '@gateway/store/webhooks/survey-webhooks';
import type { EventsMetrics } from './events-metrics.js';

const EVERY_MS = 30_000;

/** Looks at all endpoints now and then, for the metrics. Answers how to end that. */
export function watchWebhooks(
  {
    store,
    clock,
    logger,
    metrics,
  }: { store: Store; clock: Clock; logger: Logger; metrics: Pick<EventsMetrics, 'showWebhooks'> },
  everyMs = EVERY_MS,
): () => Promise<void> {
  const known: SurveyedWorkspaces = new Map();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async (): Promise<void> => {
    try {
      metrics.showWebhooks(await surveyWebhooks(store, known), clock.nowMs());
    } catch (thrown) {
      logger.warn('webhooks were not counted', { error: toError(thrown) });
    }
    if (!isStopped) {
      timer = setTimeout(() => {
        looking = look();
      }, everyMs);
    }
  };
  let looking = look();
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await looking;
  };
}

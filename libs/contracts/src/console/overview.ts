import type { MinuteActivity } from '../sends/activity.js';

/** How the workspace does. */
export interface Overview {
  /** Of the last hour, the oldest first, without the one that is not over. */
  minutes: (MinuteActivity & { atMs: number })[];
  /** Public name of a reason, such as `not_on_messenger` -> recipients that failed of it in these hours. */
  failures: Record<string, number>;
  /** What was done once, for those who begin. */
  steps: { hasToken: boolean; hasSent: boolean };
}

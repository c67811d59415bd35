import type { DeviceId, MessageId } from '../ids.js';
import type { MinuteActivity } from '../sends/activity.js';

/** How far the overview looks back, in hours, and the minutes of each of its bars. */
export const OVERVIEW_SPANS = { 1: 1, 24: 20, 168: 120 } as const;
export type OverviewHours = keyof typeof OVERVIEW_SPANS;

/** `undefined` for a time that it does not look back. */
export function readOverviewHours(value: unknown): OverviewHours | undefined {
  return Object.hasOwn(OVERVIEW_SPANS, String(value)) ? (Number(value) as OverviewHours) : undefined;
}

/** How the workspace does. */
export interface Overview {
  hours: OverviewHours;
  /** The oldest first; the last is not over. */
  bars: (MinuteActivity & { atMs: number })[];
  /** Public name of a reason, such as `not_on_messenger` -> recipients that failed of it in these hours. */
  failures: Record<string, number>;
  overdue: {
    /** Open sends that should be through by now. */
    count: number;
    /** The one that was promised first. */
    oldest?: { messageId: MessageId; device: DeviceId; promisedMs: number };
  };
  /** What was done once, for those who begin. */
  steps: { hasToken: boolean; hasSent: boolean };
}

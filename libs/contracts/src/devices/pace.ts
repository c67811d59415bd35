/** How fast a device may send. `messagesPerMinute: 0` is unlimited, which only a simulator network may see. */
export interface Pace {
  messagesPerMinute: number;
  /** Messages that may go out at once after a rest. */
  burst: number;
  /** Share of the gap between messages that varies at random, 0 to 1: an even beat looks like a machine. */
  jitter: number;
}

/** Unpaced bulk gets real accounts banned. */
export const CAREFUL_PACE: Pace = { messagesPerMinute: 20, burst: 1, jitter: 0.3 };
const UNLIMITED_PACE: Pace = { messagesPerMinute: 0, burst: 1, jitter: 0 };

/** Of a device without a pace of its own. 0 is without a limit. */
export function defaultPace(messagesPerMinute: number): Pace {
  return messagesPerMinute === 0 ? UNLIMITED_PACE : { ...CAREFUL_PACE, messagesPerMinute };
}

/** How long `messages` take at a pace, without the burst: an estimate that is never too early by more than the burst. */
export function paceDurationMs(pace: Pace, messages: number): number {
  return pace.messagesPerMinute === 0 ? 0 : Math.ceil((messages * 60_000) / pace.messagesPerMinute);
}

import { comparePlaces, type LogPlace } from '@gateway/contracts/events/cursor';
import type { GatewayEvent } from '@gateway/contracts/events/events';

/**
 * Why events are missing. `outbox_full`: they had no room. `log_gone`: the log does not go back to where an endpoint was. `parked`: an
 * endpoint refused them for too long, or too many. `send_gone`: their send was forgotten. `erased`: they were about a person who was forgotten, or a device that was removed, on request.
 */
export const GAP_CAUSES = ['outbox_full', 'outbox_lost', 'log_gone', 'parked', 'send_gone', 'erased'] as const;
export type GapCause = (typeof GAP_CAUSES)[number];
/** Found out when it is told. */
export type ToldGapCause = Extract<GapCause, 'send_gone' | 'erased'>;

interface MaybeGap {
  event?: GatewayEvent;
  gap?: ToldGapCause;
  /** Where one is who has it. */
  place: LogPlace;
  /** Of the log. */
  entry: string;
  /** Of the log: so many. */
  entries: number;
}

/**
 * Gaps of the same cause, with nothing told in between, are one: of a list that is gone each entry would be told by itself. @param limits.most entries of
 * the log in one. @param limits.upTo none begins before this place and ends behind it.
 */
export async function* gatherGaps<T extends MaybeGap>(
  steps: AsyncIterable<T>,
  { most, upTo }: { most: number; upTo?: LogPlace },
): AsyncGenerator<T> {
  const isBefore = ({ place }: T) => upTo === undefined || comparePlaces(place, upTo) <= 0;
  let held: T | undefined;
  let first: GatewayEvent | undefined;
  for await (const step of steps) {
    if (held) {
      const entries = held.entries + step.entries;
      const isSame = step.event === undefined || step.gap === held.gap;
      if (isSame && entries <= most && isBefore(step) === isBefore(held)) {
        const event = step.event ? join(first!, held.event!, { ...step, event: step.event }) : held.event!;
        held = { ...held, place: step.place, entries, event };
        continue;
      }
      yield held;
    }
    held = step.gap && step;
    first = held?.event;
    if (!held) yield step;
  }
  if (held) yield held;
}

const END = '_gap';

/** No two that differ have the same id: it says the first and the last entry, and how many are missing. */
function join(first: GatewayEvent, sofar: GatewayEvent, { entry, event }: { entry: string; event: GatewayEvent }) {
  const missing = missingIn(sofar) + missingIn(event);
  return { ...first, id: `${first.id.slice(0, -END.length)}_${entry}_${missing}${END}`, data: { missing } };
}

const missingIn = ({ data }: GatewayEvent) => Number(data.missing);

/** As it was told with its neighbours. @param first of them, told by itself. */
export function gatheredAgain(first: GatewayEvent, id: string): GatewayEvent {
  const [, missing] = /_(\d+)_gap$/.exec(id) ?? [];
  return missing === undefined ? first : { ...first, id, data: { missing: Number(missing) } };
}

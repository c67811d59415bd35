import type { GatewayEvent } from '@gateway/contracts/events/events';
import { charactersIn, HELD_CHARACTERS } from '@gateway/store/events/reading/held-characters';

/** Of a request: what is read, its JSON, and its bytes. */
const CHARACTER_BYTES = 8;
/** All else of it. */
const REQUEST_BYTES = 1_024;

/** What is read for one request, or several that are made at a time, with the texts that there is room for: more are read again when they are posted. */
export function textsHolder<S extends { event?: GatewayEvent; bytes?: number }>(): (step: S) => S {
  let held = 0;
  return (step) => {
    if (step.event?.type !== 'message.received') return step;
    const characters = charactersIn(step.event.data);
    step.bytes = CHARACTER_BYTES * characters;
    if (held > 0 && held + characters > HELD_CHARACTERS) step.event = withoutText(step.event);
    else held += characters;
    return step;
  };
}

function withoutText(event: GatewayEvent): GatewayEvent {
  const { platformMessageId } = event.data;
  return { ...event, data: { platformMessageId } };
}

export const isWithoutText = ({ type, data }: GatewayEvent): boolean =>
  type === 'message.received' && !('content' in data);

/** What a request takes of memory until it has its answer. Changes count for nothing: as there are 500 in it at most, they need not wait. */
export function requestBytes(told: readonly { bytes?: number }[]): number {
  return told.reduce((sum, { bytes = 0 }) => sum + bytes, REQUEST_BYTES);
}

import fc from 'fast-check';
import { aimAll, CHANCES } from './aim.js';
import { type ModelEvent, type News, PEOPLE, TTL_STEP_MS } from './events.js';

const MAX_EVENTS = 30;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

const chance = fc.integer({ min: 0, max: CHANCES - 1 });
/** Mostly the one that holds the device. */
const anyOwnership = fc.oneof(
  { weight: 9, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) },
);
/** Where a stale owner makes the difference. */
const ownOrNot = fc.constantFrom(0, 1);
const anyTtl = fc.constantFrom(TTL_STEP_MS, 2 * TTL_STEP_MS);
const anyKey = fc.constantFrom(0, 1);
const anyPerson = fc.integer({ min: 0, max: PEOPLE - 1 });

const NEWS: Record<News['event'], { weight: number; codes: readonly number[] }> = {
  acked: { weight: 6, codes: [0] },
  delivered: { weight: 4, codes: [0] },
  read: { weight: 3, codes: [0] },
  returned: { weight: 3, codes: [0] },
  failed: { weight: 2, codes: [1, 463] },
  revoked: { weight: 2, codes: [463, 503] },
  held: { weight: 2, codes: [0, 9, 10, 463] },
};
const anyNews: fc.Arbitrary<News> = fc.oneof(
  ...Object.entries(NEWS).map(([event, { weight, codes }]) => ({
    weight,
    arbitrary: fc.record({
      ...{ recipient: chance, part: chance, event: fc.constant(event as News['event']) },
      errorCode: fc.constantFrom(...codes),
    }),
  })),
);

type Accept = Extract<ModelEvent, { do: 'accept' }>;
const accept = {
  do: fc.constant('accept' as const),
  key: fc.option(anyKey, { nil: undefined, freq: 3 }),
  room: fc.oneof(
    { weight: 7, arbitrary: fc.constant('plenty' as const) },
    { weight: 1, arbitrary: fc.constant('none' as const) },
  ),
  isLate: fc.oneof(
    { weight: 15, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant(true as const) },
  ),
};
const anyText = fc.record({
  ...accept,
  kind: fc.constant('text' as const),
  parts: fc.constantFrom(1, 1, 2, 3),
  people: fc.uniqueArray(anyPerson, { minLength: 1, maxLength: 3 }),
  expiresInMs: fc.constantFrom(MINUTE_MS, 24 * HOUR_MS),
});
const anyCode = fc.record({
  ...accept,
  kind: fc.constant('otp' as const),
  parts: fc.constant(1),
  people: fc.tuple(anyPerson),
  expiresInMs: fc.constant(5 * MINUTE_MS),
});
const anyAccept: fc.Arbitrary<Accept> = fc
  .oneof({ weight: 3, arbitrary: anyText }, { weight: 1, arbitrary: anyCode })
  .map(({ key, isLate, ...event }) => ({ ...event, ...(key !== undefined && { key }), ...(isLate && { isLate }) }));

type Fields<Event> = { [Field in keyof Omit<Event, 'do'>]: fc.Arbitrary<Event[Field & keyof Event]> };
function event<Name extends ModelEvent['do']>(
  weight: number,
  name: Name,
  fields: Fields<Extract<ModelEvent, { do: Name }>>,
) {
  return { weight, arbitrary: fc.record({ do: fc.constant(name), ...fields }) as fc.Arbitrary<unknown> };
}

const anyEvent = fc.oneof(
  { weight: 8, arbitrary: anyAccept },
  event(3, 'takeIn', { ownership: anyOwnership, send: chance }),
  event(26, 'claim', { ownership: anyOwnership, send: chance, recipient: chance, part: chance }),
  event(30, 'report', {
    ...{ ownership: anyOwnership, send: chance },
    news: fc.array(anyNews, { minLength: 1, maxLength: 2 }),
  }),
  event(2, 'cancel', { send: chance }),
  event(3, 'expire', { by: fc.constantFrom('owner', 'steward') }),
  event(2, 'forgetPerson', { send: chance, person: anyPerson }),
  event(3, 'pass', { ms: fc.constantFrom(SECOND_MS, 61 * SECOND_MS, 5 * MINUTE_MS, 11 * MINUTE_MS) }),
  event(1, 'pass', { ms: fc.constantFrom(25 * HOUR_MS, 8 * 24 * HOUR_MS) }),
  event(4, 'acquire', { ttlMs: anyTtl }),
  event(2, 'renew', { ownership: ownOrNot, ttlMs: anyTtl }),
  event(2, 'release', { ownership: ownOrNot }),
  event(1, 'lapse', {}),
  event(3, 'takeAccount', { ownership: anyOwnership, account: fc.constantFrom(1, 2) }),
  event(1, 'logOut', { ownership: anyOwnership }),
  event(1, 'optOut', { person: anyPerson }),
  event(1, 'optIn', { person: anyPerson }),
  event(2, 'dropOptedOut', { ownership: anyOwnership, send: chance }),
  event(2, 'claimKey', { key: anyKey }),
  event(3, 'releaseKey', { key: anyKey, claim: fc.constantFrom(0, 1) }),
  event(1, 'lapseKey', { key: anyKey }),
  event(1, 'answerKey', { key: anyKey, send: chance, answer: fc.constantFrom(1, 2) }),
  event(1, 'freeKey', { key: anyKey, send: chance }),
) as fc.Arbitrary<ModelEvent>;

/** A sequence begins as all do: there is an owner, and a send. */
export const anySequence: fc.Arbitrary<ModelEvent[]> = fc
  .tuple(anyAccept, fc.array(anyEvent, { maxLength: MAX_EVENTS, size: 'max' }))
  .map(([first, rest]) => aimAll([{ do: 'acquire', ttlMs: TTL_STEP_MS }, first, ...rest]));

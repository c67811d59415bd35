import type { GatewayEvent } from '../events/events.js';
import { maskPhoneNumber } from '../people/phone-number.js';
import type { WebhookSettings } from './webhook.js';

type Hidden = Pick<WebhookSettings, 'content' | 'numbers'>;
type Data = GatewayEvent['data'];

/** An event without what its endpoint does not want to know: what people write, and most digits of their numbers. */
export function hideParts(event: GatewayEvent, { content, numbers }: Hidden): GatewayEvent {
  let { data } = event;
  // As it is told of a message that was erased.
  if (content === 'none' && event.type === 'message.received') {
    data = { ...data, name: null, content: { type: 'text', text: null }, replyTo: null };
  }
  return { ...event, data: numbers === 'masked' ? maskNumbers(data) : data };
}

/** What holds numbers, and what people may have written them into, at any depth. */
const NUMBERS = ['to', 'from', 'phone', 'phones'];
const WORDS = ['name', 'text', 'filename', 'mimeType', 'emoji'];

function maskNumbers(data: Data): Data {
  const ends = new Set(numbersIn(data).map(endOf));
  const mask = (value: unknown, field: string): unknown => {
    if (Array.isArray(value)) return value.map((each) => mask(each, field));
    if (typeof value === 'object' && value !== null) return maskFields(value);
    if (typeof value !== 'string') return value;
    if (NUMBERS.includes(field)) return maskPerson(value);
    return ends.size > 0 && WORDS.includes(field) ? value.replace(GROUPED, (group) => maskGroup(group, ends)) : value;
  };
  const maskFields = (fields: object): Data =>
    Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, mask(value, field)]));
  return maskFields(data);
}

/** The own one, and those of contacts: who has no name is shown under the number. */
function numbersIn({ from, phone, content }: Data): string[] {
  const own = /^\d{7,}/.exec(String(from ?? phone ?? '')) ?? [];
  const { contacts = [] } = (content ?? {}) as { contacts?: readonly { phones: readonly string[] }[] };
  return [...own, ...contacts.flatMap(({ phones }) => phones)];
}

const DIGIT = /\p{Nd}/u;
const PLAIN = new Map<string, string>();

/** Of a digit in any script or style. Those of one follow its zero, and the next zero may follow them. */
function plainOf(digit: string): string {
  const known = PLAIN.get(digit);
  if (known !== undefined) return known;
  const place = digit.codePointAt(0)!;
  let first = place;
  while (DIGIT.test(String.fromCodePoint(first - 1))) first--;
  const plain = String((place - first) % 10);
  PLAIN.set(digit, plain);
  return plain;
}

const digitsOf = (signs: readonly string[]) => signs.map((sign) => (isDigit(sign) ? plainOf(sign) : '')).join('');

/** A number, or `digits@lid`. */
function maskPerson(person: string): string {
  const [digits = '', server] = person.split('@');
  return maskPhoneNumber(digits) + (server === undefined ? '' : `@${server}`);
}

/** Digits without a country's code are the same number, however they are grouped, and in whatever script they are. */
const endOf = (digits: string) => digits.slice(-END_DIGITS);
const END_DIGITS = 8;
const LENGTHS = Array.from({ length: END_DIGITS }, (_, i) => i + 1);
const MOST_DIGITS = 15;
const GROUPED = /\p{Nd}(?:[^\p{L}\p{N}]{0,8}\p{Nd})*/gu;
const isDigit = (sign: string | undefined) => sign !== undefined && (PLAIN.has(sign) || DIGIT.test(sign));

/** The place of the last one. */
function runOfDigits(signs: readonly string[], from: number): number {
  let to = from;
  while (isDigit(signs[to + 1])) to++;
  return to;
}

/** There may be as many as a card has lines: each end of digits is looked up among all of them. */
function maskGroup(group: string, ends: ReadonlySet<string>): string {
  const signs = [...group];
  let masked = '';
  let from = 0;
  let [places, digits] = [[] as number[], ''];
  let runFrom = 0;
  let runTo = -1;
  for (const [place, sign] of signs.entries()) {
    if (!isDigit(sign)) continue;
    places.push(place);
    digits = (digits + plainOf(sign)).slice(-END_DIGITS);
    if (place > runTo) [runFrom, runTo] = [place, runOfDigits(signs, place)];
    // Within a number there is no end; what has more digits than one is several.
    const isOne = runTo - runFrom < MOST_DIGITS;
    if (place < runTo && (isOne || !ends.has(digits))) continue;
    if (!LENGTHS.some((length) => ends.has(digits.slice(-length)))) continue;
    const start = places.at(-MOST_DIGITS) ?? places[0]!;
    masked += signs.slice(from, start).join('') + maskPerson(digitsOf(signs.slice(start, place + 1)));
    from = place + 1;
    [places, digits] = [[], ''];
  }
  return masked + signs.slice(from).join('');
}

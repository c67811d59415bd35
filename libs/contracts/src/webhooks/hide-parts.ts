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

/** What holds numbers, and what people may have written their own into, at any depth. */
const NUMBERS = ['to', 'from', 'phone', 'phones'];
const WORDS = ['name', 'text', 'filename'];

function maskNumbers(data: Data): Data {
  const own = /^\d{7,}/.exec(String(data.from ?? data.phone ?? ''))?.[0];
  const inWords = own === undefined ? undefined : spelled(own);
  const mask = (value: unknown, field: string): unknown => {
    if (Array.isArray(value)) return value.map((each) => mask(each, field));
    if (typeof value === 'object' && value !== null) return maskFields(value);
    if (typeof value !== 'string') return value;
    if (NUMBERS.includes(field)) return maskPerson(value);
    return inWords && WORDS.includes(field) ? value.replace(inWords, (found) => maskPerson(digitsOf(found))) : value;
  };
  const maskFields = (fields: object): Data =>
    Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, mask(value, field)]));
  return maskFields(data);
}

const digitsOf = (text: string) => text.replace(/\D/g, '');

/** A number, or `digits@lid`. */
function maskPerson(person: string): string {
  const [digits = '', server] = person.split('@');
  return maskPhoneNumber(digits) + (server === undefined ? '' : `@${server}`);
}

/** Digits without a country's code are the same number, however they are grouped. */
const BETWEEN = String.raw`[^\p{L}\p{N}]{0,3}`;
const spelled = (digits: string) =>
  new RegExp(String.raw`(?:\d${BETWEEN}){0,7}${[...digits.slice(-8)].join(BETWEEN)}(?!\d)`, 'gu');

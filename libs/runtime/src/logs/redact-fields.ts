import { maskPhoneNumber } from '@gateway/contracts/people/phone-number';

/** Fields that never reach a log, whatever their value. Compared in lower case, without `_` and `-`. */
const SECRET_FIELDS = new Set([
  'token',
  'apitoken',
  'authorization',
  'cookie',
  'password',
  'secret',
  'privatekey',
  'encryptionkeys',
  'creds',
  'code',
  'pairingcode',
  'qr',
  'qrcode',
  'text',
  'caption',
  'body',
  'content',
]);
/** Fields that hold phone numbers. */
const PHONE_FIELDS = new Set(['phone', 'phonenumber', 'to', 'from', 'number', 'numbers', 'recipient', 'jid', 'lid']);
/** Our API tokens and the `?token=` of a URL, anywhere in a text. */
const TOKENS = /gw_[0-9a-z]{16}_[0-9a-z]+|(?<=[?&]token=)[^&\s"]+/g;
const MAX_DEPTH = 5;
const REDACTED = '[redacted]';

/**
 * Makes fields fit for a log line: secrets are taken out, phone numbers masked, errors and bytes turned into plain data.
 * A safety net: callers should still not log such things.
 */
export function redactFields(fields: Record<string, unknown>): Record<string, unknown> {
  return redactObject(fields, 0);
}

/** Removes API tokens from a text. */
export function redactText(text: string): string {
  return text.replace(TOKENS, REDACTED);
}

function redactObject(fields: object, depth: number): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) result[name] = redactField(name, value, depth);
  }
  return result;
}

function redactField(name: string, value: unknown, depth: number): unknown {
  const kind = kindOf(name);
  if (kind === 'secret') return REDACTED;
  if (kind === 'phone') return maskNumbers(value);
  return redactValue(value, depth + 1);
}

type FieldKind = 'secret' | 'phone' | 'other';

/** By name, as it was logged. Names come from the code, so there are few; bounded as a precaution. */
const kinds = new Map<string, FieldKind>();
const MAX_KNOWN_NAMES = 1_000;

function kindOf(name: string): FieldKind {
  const known = kinds.get(name);
  if (known) return known;
  const plainName = name.toLowerCase().replace(/[_-]/g, '');
  const kind = SECRET_FIELDS.has(plainName) ? 'secret' : PHONE_FIELDS.has(plainName) ? 'phone' : 'other';
  if (kinds.size < MAX_KNOWN_NAMES) kinds.set(name, kind);
  return kind;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describeError(value, depth);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return `<${value.byteLength} bytes>`;
  if (depth > MAX_DEPTH) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1));
  return redactObject(value, depth);
}

function maskNumbers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskNumbers);
  if (typeof value === 'string') return maskPhoneNumber(value.replace(/[:@].*$/, ''));
  return typeof value === 'object' && value !== null ? REDACTED : value;
}

/** `code` of an error names the kind of failure, unlike a field of that name: it stays. */
function describeError(error: Error, depth: number): Record<string, unknown> {
  const { code, fields, cause } = error as Error & { code?: unknown; fields?: unknown };
  return {
    name: error.name,
    message: redactText(error.message),
    ...(code !== undefined && { code }),
    ...(isFilled(fields) && { fields: redactObject(fields, depth) }),
    stack: redactText(error.stack ?? ''),
    ...(cause !== undefined && depth <= MAX_DEPTH && { cause: redactValue(cause, depth + 1) }),
  };
}

function isFilled(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

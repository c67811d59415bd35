import type { ErrorDetail } from '@gateway/contracts/errors';
import { LIMITS } from '@gateway/contracts/limits';
import { INPUT_PREFS } from '@gateway/egress/input/input-kinds';
import { listFields } from '@gateway/runtime/config/list-fields';
import type { AnySchema, ObjectSchema, ValidationErrorItem } from 'joi';

export type Checked<Value> = { value: Value; details: [] } | { value: undefined; details: ErrorDetail[] };

/** A name that we do not know is echoed, but not at any length. */
const MAX_NAME_CHARACTERS = 100;

/**
 * Makes what checks input against a schema: every problem (the first 100), none with a value in it, unknown fields
 * refused. Once per schema: with the rules put into it beforehand a check costs a tenth.
 */
export function inputCheck<Value>(plain: ObjectSchema<Value>): (input: unknown) => Checked<Value> {
  const schema = plain.prefs(INPUT_PREFS);
  const known = namesOf(plain);
  const check = (input: unknown): Checked<Value> => {
    const { value, error } = schema.validate(dropExcessNames(known, input));
    const details = [...refuseProto(input, []), ...(error?.details ?? []).map(toDetail)];
    if (details.length === 0) return { value: value as Value, details: [] };
    return { value: undefined, details: details.slice(0, LIMITS.maxValidationDetails) };
  };
  // Query or body of most requests: for many endpoints that is all there can be.
  const { value: ofNothing } = check({});
  return (input) => (isEmpty(input) && isEmpty(ofNothing) ? { value: {} as Value, details: [] } : check(input));
}

function isEmpty(input: unknown): boolean {
  if (!isObject(input)) return false;
  for (const _name in input) return false;
  return true;
}

function toDetail({ path, message }: ValidationErrorItem): ErrorDetail {
  return { path: path.map(shorten), message };
}

function shorten(name: string | number): string | number {
  return typeof name === 'string' ? name.slice(0, MAX_NAME_CHARACTERS) : name;
}

/** The names of an object's fields, and those of the objects among them. */
type Names = Map<string, Names>;

function namesOf(schema: AnySchema): Names {
  return new Map(listFields(schema).map((name) => [name, namesOf((schema as ObjectSchema).extract(name))]));
}

/** A body of megabytes can hold a million unknown names; Joi would build an error for each. Known ones stay. */
function dropExcessNames(known: Names, input: unknown): unknown {
  if (!isObject(input)) return input;
  const fields = Object.entries(input);
  if (fields.length <= LIMITS.maxValidationDetails && !fields.some(([, value]) => isObject(value))) return input;
  const unknown = fields.filter(([name]) => !known.has(name)).slice(0, LIMITS.maxValidationDetails);
  const kept = fields
    .filter(([name]) => known.has(name))
    .map(([name, value]) => [name, dropExcessNames(known.get(name)!, value)]);
  return Object.fromEntries([...kept, ...unknown]);
}

/** `JSON.parse` makes an own field of this name, which Joi passes over. */
function refuseProto(input: unknown, path: readonly string[]): ErrorDetail[] {
  if (!isObject(input)) return [];
  const own = Object.hasOwn(input, '__proto__') ? [{ path: [...path, '__proto__'], message: 'is not allowed' }] : [];
  // Deeper than an attachment is there is nothing but unknown fields, which are refused as a whole.
  return path.length > 0 ? own : [...own, ...Object.keys(input).flatMap((name) => refuseProto(input[name], [name]))];
}

/** One that JSON made; a file that came inside the body is none. */
function isObject(input: unknown): input is Record<string, unknown> {
  return typeof input === 'object' && input !== null && Object.getPrototypeOf(input) === Object.prototype;
}

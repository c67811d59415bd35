/** One field of a protobuf message: a number for varints, a view of the bytes for fields with a length. */
export interface WireField {
  id: number;
  value: number | Uint8Array;
}

/** How many more fields may be read, at all depths together. */
export interface FieldBudget {
  left: number;
}

const VARINT = 0;
const FIXED_64 = 1;
const WITH_LENGTH = 2;
const FIXED_32 = 5;
const MOST_VARINT_BYTES = 10;

/**
 * The fields of a protobuf message, one level deep: unused fields are skipped and never decoded. Throws on
 * invalid bytes, and when the budget is spent. Numbers above 2^53 lose their last digits.
 */
export function* readFields(bytes: Uint8Array, budget?: FieldBudget): Generator<WireField> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let read = 0; read < MOST_VARINT_BYTES; read++) {
      const byte = bytes[at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * 2 ** (7 * read);
      if (byte < 0x80) return value;
    }
    throw new Error('malformed protobuf: a number without an end');
  };
  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw new Error('malformed protobuf: a field beyond the end');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    if (budget && budget.left-- <= 0) throw new Error('too many fields in a message');
    const tag = varint();
    const [id, type] = [Math.floor(tag / 8), tag % 8];
    if (type === VARINT) yield { id, value: varint() };
    else if (type === WITH_LENGTH) yield { id, value: take(varint()) };
    else if (type === FIXED_64) take(8);
    else if (type === FIXED_32) take(4);
    else throw new Error('malformed protobuf: a field of an unknown type');
  }
}

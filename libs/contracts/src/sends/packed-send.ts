import { KIND_CODES, type SendKind } from '../content/message-content.js';
import { PRIORITIES, type Priority } from '../jobs.js';
import {
  HEAD_BYTES,
  HEAD_LAYOUT,
  type HeadField,
  offsetsOf,
  PLACE_BYTES,
  RECIPIENT_BYTES,
  RECORD_VERSION,
  RESULT_LAYOUT,
  type ResultField,
  TEXT_FIELDS,
  type TextField,
} from './send-layout.js';
import {
  RECIPIENT_STATUSES,
  type RecipientStatus,
  SEND_STATES,
  type SendState,
  type StatusCounts,
} from './statuses.js';

const HEAD_AT = offsetsOf(HEAD_LAYOUT);
const RESULT_AT = offsetsOf(RESULT_LAYOUT);

export interface SendHead {
  state: SendState;
  kind: SendKind;
  priority: Priority;
  parts: number;
  total: number;
  counts: StatusCounts;
  createdAtMs: number;
  expiresAtMs: number;
  cancelledAtMs?: number;
  sentAtMs?: number;
  accountEpoch: number;
}

export interface SendTexts extends Record<TextField, string> {
  /** Of a traced send: see send-layout.ts. */
  trace?: string;
}

/** What is written down when a send is accepted. */
interface NewPackedSend extends Pick<SendHead, 'state' | 'kind' | 'priority' | 'parts' | 'accountEpoch'> {
  /** Digits, 7 to 15 of them: they fit into 53 bits. */
  recipients: readonly string[];
  nowMs: number;
  expiresAtMs: number;
  texts: SendTexts;
}

/** All recipients are queued, and no owner has worked on them. Throws for a text of more than 255 bytes. */
export function packSend(send: NewPackedSend): Buffer {
  const { recipients, nowMs } = send;
  const { trace } = send.texts;
  const texts = Buffer.concat([
    ...TEXT_FIELDS.flatMap((field) => packText(field, send.texts[field])),
    ...(trace ? packText('trace', trace) : []),
  ]);
  const total = recipients.length;
  const packed = Buffer.alloc(HEAD_BYTES + total * PLACE_BYTES + texts.length);
  const head: Partial<Record<HeadField, number>> = {
    version: RECORD_VERSION,
    ...{ state: SEND_STATES.indexOf(send.state), kind: KIND_CODES[send.kind] },
    ...{ priority: PRIORITIES[send.priority], parts: send.parts, total, queued: total },
    ...{ createdAt: nowMs, expiresAt: send.expiresAtMs, accountEpoch: send.accountEpoch, textBytes: texts.length },
  };
  for (const [field, value] of Object.entries(head) as [HeadField, number][]) {
    packed.writeUIntBE(value, HEAD_AT[field], HEAD_LAYOUT[field]);
  }
  recipients.forEach((number, index) => {
    const at = HEAD_BYTES + index * PLACE_BYTES;
    packed.writeBigUInt64BE(BigInt(number), at);
    packed.writeUIntBE(nowMs, at + RECIPIENT_BYTES + RESULT_AT.at, RESULT_LAYOUT.at);
  });
  texts.copy(packed, packed.length - texts.length);
  return packed;
}

function packText(field: keyof SendTexts, text: string): [Buffer, Buffer] {
  const bytes = Buffer.from(text);
  if (bytes.length > 255) throw new Error(`${field} of a send is too long: ${bytes.length} bytes`);
  return [Buffer.of(bytes.length), bytes];
}

/** Of `HEAD_RANGE`, which begins with this version. */
export function unpackHead(bytes: Buffer): SendHead {
  const read = (field: HeadField) => bytes.readUIntBE(HEAD_AT[field], HEAD_LAYOUT[field]);
  const [cancelledAtMs, sentAtMs] = [read('cancelledAt'), read('sentAt')];
  return {
    state: known(SEND_STATES, read('state')),
    kind: nameOf(KIND_CODES, read('kind')),
    priority: nameOf(PRIORITIES, read('priority')),
    ...{ parts: read('parts'), total: read('total'), accountEpoch: read('accountEpoch') },
    counts: Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, read(status)])) as StatusCounts,
    ...{ createdAtMs: read('createdAt'), expiresAtMs: read('expiresAt') },
    ...(cancelledAtMs > 0 && { cancelledAtMs }),
    ...(sentAtMs > 0 && { sentAtMs }),
  };
}

/** Of `TEXT_RANGE`, and the head of the same send. */
export function unpackTexts(bytes: Buffer, head: Buffer): SendTexts {
  let at = bytes.length - head.readUIntBE(HEAD_AT.textBytes, HEAD_LAYOUT.textBytes);
  const next = () => {
    const from = at + 1;
    at = from + bytes.readUInt8(at);
    return bytes.toString('utf8', from, at);
  };
  const texts = Object.fromEntries(TEXT_FIELDS.map((field) => [field, next()])) as Record<TextField, string>;
  return at < bytes.length ? { ...texts, trace: next() } : texts;
}

function known<T>(names: readonly T[], code: number): T {
  const name = names[code];
  if (name === undefined) throw new Error(`unknown code ${code}`);
  return name;
}

function nameOf<N extends string>(codes: Readonly<Record<N, number>>, code: number): N {
  return known(
    Object.keys(codes).filter((name) => codes[name as N] === code),
    0,
  ) as N;
}

export interface RecipientResult {
  status: RecipientStatus;
  attempts: number;
  partsInFlight: number;
  partsAcked: number;
  partsInDoubt: number;
  errorCode: number;
  atMs: number;
}

/** A number as it lies in the place of a recipient. */
export function packNumber(number: string): Buffer {
  const packed = Buffer.alloc(RECIPIENT_BYTES);
  packed.writeBigUInt64BE(BigInt(number));
  return packed;
}

/** In the place of a number that was taken out: zero in the packed form. */
const FORGOTTEN = 'forgotten';

/** A recipient of a send. */
export interface RecipientView extends RecipientResult {
  index: number;
  /** Digits. */
  to: string;
}

/** Recipients `from` to `from + count`, in the bytes of their places; those may go on with texts. */
export function unpackPlaces(bytes: Buffer, { from, count }: { from: number; count: number }): RecipientView[] {
  const length = Math.min(count, Math.floor(bytes.length / PLACE_BYTES));
  return Array.from({ length }, (_, i) => unpackPlace(bytes, i * PLACE_BYTES, from + i));
}

/** A list has 10,000 of these: fields are read one by one, and numbers, which fit into 53 bits, without BigInt. */
function unpackPlace(bytes: Buffer, at: number, index: number): RecipientView {
  const number = bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
  const result = at + RECIPIENT_BYTES;
  return {
    index,
    to: number === 0 ? FORGOTTEN : String(number),
    status: known(RECIPIENT_STATUSES, readField(bytes, result, 'status')),
    attempts: readField(bytes, result, 'attempts'),
    partsInFlight: readField(bytes, result, 'inFlight'),
    partsAcked: readField(bytes, result, 'acked'),
    partsInDoubt: readField(bytes, result, 'doubt'),
    errorCode: readField(bytes, result, 'err'),
    atMs: readField(bytes, result, 'at'),
  };
}

/** A digit for each of the first `count` recipients, the code of its status, in the bytes of their places. */
export function unpackStatuses(bytes: Buffer, count: number): string {
  const first = RECIPIENT_BYTES + RESULT_AT.status;
  return Array.from({ length: count }, (_, index) => bytes[first + index * PLACE_BYTES]).join('');
}

function readField(bytes: Buffer, result: number, field: ResultField): number {
  return bytes.readUIntBE(result + RESULT_AT[field], RESULT_LAYOUT[field]);
}

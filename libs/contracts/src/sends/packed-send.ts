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
const KINDS = namesByCode(KIND_CODES);
const PRIORITY_NAMES = namesByCode(PRIORITIES);

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
  const total = recipients.length;
  const texts = textsOf(send.texts);
  const textBytes = texts.reduce((sum, text) => sum + 1 + Buffer.byteLength(text), 0);
  const packed = Buffer.alloc(HEAD_BYTES + total * PLACE_BYTES + textBytes);
  const write = (field: HeadField, value: number) => packed.writeUIntBE(value, HEAD_AT[field], HEAD_LAYOUT[field]);
  write('version', RECORD_VERSION);
  write('state', SEND_STATES.indexOf(send.state));
  write('kind', KIND_CODES[send.kind]);
  write('priority', PRIORITIES[send.priority]);
  write('parts', send.parts);
  write('total', total);
  write('queued', total);
  write('createdAt', nowMs);
  write('expiresAt', send.expiresAtMs);
  write('accountEpoch', send.accountEpoch);
  write('textBytes', textBytes);
  recipients.forEach((number, index) => {
    const at = HEAD_BYTES + index * PLACE_BYTES;
    packed.writeBigUInt64BE(BigInt(number), at);
    packed.writeUIntBE(nowMs, at + RECIPIENT_BYTES + RESULT_AT.at, RESULT_LAYOUT.at);
  });
  let at = packed.length - textBytes;
  for (const text of texts) {
    const bytes = packed.write(text, at + 1);
    packed[at] = bytes;
    at += 1 + bytes;
  }
  return packed;
}

function textsOf(texts: SendTexts): string[] {
  const fields: (keyof SendTexts)[] = texts.trace ? [...TEXT_FIELDS, 'trace'] : [...TEXT_FIELDS];
  for (const field of fields) {
    const bytes = Buffer.byteLength(texts[field]!);
    if (bytes > 255) throw new Error(`${field} of a send is too long: ${bytes} bytes`);
  }
  return fields.map((field) => texts[field]!);
}

/** Of `HEAD_RANGE`, which begins with this version. */
export function unpackHead(bytes: Buffer): SendHead {
  const read = (field: HeadField) => bytes.readUIntBE(HEAD_AT[field], HEAD_LAYOUT[field]);
  const [cancelledAtMs, sentAtMs] = [read('cancelledAt'), read('sentAt')];
  return {
    state: known(SEND_STATES, read('state')),
    kind: known(KINDS, read('kind')),
    priority: known(PRIORITY_NAMES, read('priority')),
    parts: read('parts'),
    total: read('total'),
    accountEpoch: read('accountEpoch'),
    counts: {
      queued: read('queued'),
      sent: read('sent'),
      delivered: read('delivered'),
      read: read('read'),
      failed: read('failed'),
      expired: read('expired'),
      cancelled: read('cancelled'),
    },
    createdAtMs: read('createdAt'),
    expiresAtMs: read('expiresAt'),
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

function known<T>(names: readonly (T | undefined)[], code: number): T {
  const name = names[code];
  if (name === undefined) throw new Error(`unknown code ${code}`);
  return name;
}

function namesByCode<Name extends string>(codes: Readonly<Record<Name, number>>): (Name | undefined)[] {
  const names: (Name | undefined)[] = [];
  for (const name of Object.keys(codes) as Name[]) names[codes[name]] = name;
  return names;
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

/** The number of one recipient, in the bytes of places; `undefined` where it was taken out, or is not among them. */
export function unpackNumber(bytes: Buffer, place: number): string | undefined {
  const at = place * PLACE_BYTES;
  const number = at + PLACE_BYTES <= bytes.length ? readNumber(bytes, at) : 0;
  return number === 0 ? undefined : String(number);
}

/** It fits into 53 bits. */
function readNumber(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

/** A list has 10,000 of these: fields are read one by one, and numbers without BigInt. */
function unpackPlace(bytes: Buffer, at: number, index: number): RecipientView {
  const number = readNumber(bytes, at);
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

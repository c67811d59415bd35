import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { fromBase32, toBase32 } from './base32.js';
import { maskPhoneNumber } from './people/phone-number.js';

/** The name of a workspace, `[a-z0-9-]{1,40}`: the separate data of one account holder. */
export type Workspace = string;
/** A device's name inside its workspace, `[a-z0-9-]{1,40}`. */
export type DeviceId = string;
/** `msg_` + 8 characters of the device + 16 that are random, or follow from an idempotency key (80 bits), of which the first 52 bits are the tag of the send. */
export type MessageId = string;
/** 13 hex digits (52 bits), unique per device: names the keys of a send and rides in the platform ids of its messages. */
export type SendTag = string;

/** Where a device lives: its keys share one Redis Cluster slot, that of its shard. */
export interface DeviceAddress {
  workspace: Workspace;
  device: DeviceId;
}

/** In logs, sets and maps that span workspaces: `workspace/device`. */
export function nameOfDevice({ workspace, device }: DeviceAddress): string {
  return `${workspace}/${device}`;
}

export function deviceOfName(name: string): DeviceAddress {
  const [workspace, device] = name.split('/') as [string, string];
  return { workspace, device };
}

/** There from the start. */
export const DEFAULT_WORKSPACE: Workspace = 'default';
export const DEFAULT_DEVICE: DeviceId = 'default';

const NAME = /^[a-z0-9-]{1,40}$/;
const MESSAGE_ID = /^msg_([0-9a-hjkmnp-tv-z]{8})([0-9a-hjkmnp-tv-z]{16})$/;
const REQUEST_ID = /^[A-Za-z0-9_.:-]{1,100}$/;

export function isWorkspaceName(value: string): boolean {
  return NAME.test(value);
}

export function isDeviceId(value: string): boolean {
  return NAME.test(value);
}

/** The same device always has the same 40 bits, so a message id finds its device without an index of messages. */
export function shortDeviceId(address: DeviceAddress): string {
  return toBase32(deviceDigest(address));
}

const digests = new Map<string, Buffer>();
const MAX_DIGESTS = 20_000;

/** 40 bits: the source of short ids of devices and of their shard. Asked for several times in each request. */
export function deviceDigest(address: DeviceAddress): Buffer {
  const name = nameOfDevice(address);
  let digest = digests.get(name);
  if (digest === undefined) {
    digest = createHash('sha256').update(name).digest().subarray(0, 5);
    if (digests.size >= MAX_DIGESTS) digests.clear();
    digests.set(name, digest);
  }
  return digest;
}

/** @param random of which the first 10 bytes are taken. */
export function makeMessageId(address: DeviceAddress, random: Buffer = tenRandomBytes()): MessageId {
  return `msg_${shortDeviceId(address)}${toBase32(random.subarray(0, 10))}`;
}

/** Those of a UUID that neither version nor variant takes: it comes from random bytes that Node asks the system for a hundred at a time. */
function tenRandomBytes(): Buffer {
  const uuid = randomUUID();
  return Buffer.from(uuid.slice(0, 8) + uuid.slice(24), 'hex');
}

/** The device and the tag in a message id, or `undefined` for anything we never made. */
export function parseMessageId(value: string): { shortDeviceId: string; tag: SendTag } | undefined {
  const match = MESSAGE_ID.exec(value);
  if (!match) return undefined;
  return { shortDeviceId: match[1]!, tag: fromBase32(match[2]!).toString('hex').slice(0, 13) };
}

/** Seven digits or more, with anything between them: a number stays readable even between letters. */
const NUMBER_OF_A_PERSON = /(?:\d\D*){7}/;
/**
 * Identifiers made by machines have such digits by chance: UUIDs, by their version and variant, ids of traces (32 hex
 * digits), with that of a span (16) behind them as in a `traceparent`, and ULIDs. A span alone is too short to tell from
 * a number with letters around it. Of the others one in 7,000 has fewer than three letters and is taken for a number.
 */
const MADE_BY_MACHINE =
  /(?<![0-9a-z])(?:[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|[0-9a-f]{32}(?:-[0-9a-f]{16})?|[0-7][0-9a-hjkmnp-tv-z]{25})(?![0-9a-z])/gi;
const THREE_LETTERS = /(?:[a-z][^a-z]*){3}/i;
/** With no letter in between. By chance in one trace id of twelve, and in one UUID of ten. */
const WHOLE_NUMBER = /\d(?:[^0-9a-z]*\d){9,}/gi;

/**
 * Accepts a caller's request id if it is valid, else generates one. One with what may be a phone number in it is not: it
 * would be in every log line of the request.
 */
export function takeOrMakeRequestId(received: string | undefined): string {
  return received !== undefined && REQUEST_ID.test(received) && !mayNamePerson(received)
    ? received
    : `req_${randomUUID()}`;
}

/** A caller's request id as logs and records have it: ten digits or more may still be a whole number, and are masked. */
export function maskRequestId(id: string): string {
  return id.replace(WHOLE_NUMBER, maskPhoneNumber);
}

function mayNamePerson(id: string): boolean {
  const written = id.replace(MADE_BY_MACHINE, (made) => (THREE_LETTERS.test(made) ? 'x' : made));
  return NUMBER_OF_A_PERSON.test(written);
}

export function makeAttemptId(): string {
  return `att_${toBase32(randomBytes(10))}`;
}

export function makeQuestionId(): string {
  return `ask_${toBase32(randomBytes(10))}`;
}

/** Names one running process in sessions and member sets: readable, and never the same after a restart. */
export function makeProcessId(service: string, host: string): string {
  return `${service}-${host.replace(/[^A-Za-z0-9.-]/g, '')}-${toBase32(randomBytes(5))}`;
}

import { KIND_CODES } from '@gateway/contracts/content/message-content';
import { WANTS } from '@gateway/contracts/devices/device-state';
import {
  EVENT_ENTRY_VERSION,
  EVENTS_KEPT_MS,
  OUTBOX_BYTES,
  OUTBOX_ENTRIES,
  OUTBOX_WEIGHED_EVERY,
  PARTS,
  PLACE,
  WEBHOOK_TOLD,
} from '@gateway/contracts/events/entry';
import { LIMITS } from '@gateway/contracts/limits';
import { MOST_OPT_OUT_SOURCES, OPT_OUT_SOURCES } from '@gateway/contracts/people/opt-outs';
import { ACTIVITY_BYTES, ACTIVITY_FIELDS } from '@gateway/contracts/sends/activity';
import { KEPT_MS } from '@gateway/contracts/sends/kept-times';
import { PRIORITY_SPAN } from '@gateway/contracts/sends/open-order';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import {
  HEAD_LAYOUT,
  offsetsOf,
  READ_VERSIONS,
  RECIPIENT_BYTES,
  RESULT_LAYOUT,
  TEXT_FIELDS,
  widthOf,
} from '@gateway/contracts/sends/send-layout';
import { RECIPIENT_EVENTS, RECIPIENT_STATUSES, SEND_STATES } from '@gateway/contracts/sends/statuses';
import { TOTAL_BYTES } from '@gateway/contracts/sends/totals';
import { SEALED_VERSION } from '../vault.js';
import type { LuaConstants } from './lua-source.js';

/** Fields and their bytes: see send-layout.ts. */
type Layout = Readonly<Record<string, number>>;

/** The parts of the contract that Lua gets. */
export const CONTRACT = {
  statuses: RECIPIENT_STATUSES as readonly string[],
  states: SEND_STATES as readonly string[],
  events: RECIPIENT_EVENTS as readonly string[],
  wants: WANTS as readonly string[],
  prioritySpan: PRIORITY_SPAN,
  kinds: KIND_CODES as Readonly<Record<string, number>>,
  headLayout: HEAD_LAYOUT as Layout,
  resultLayout: RESULT_LAYOUT as Layout,
  textFields: TEXT_FIELDS as readonly string[],
  activityFields: ACTIVITY_FIELDS as readonly string[],
  activityBytes: ACTIVITY_BYTES,
  totalBytes: TOTAL_BYTES,
  recipientBytes: RECIPIENT_BYTES,
  readVersions: READ_VERSIONS,
  sealedVersion: SEALED_VERSION,
  parts: PARTS as Readonly<Record<string, number>>,
  outbox: {
    ...{ version: EVENT_ENTRY_VERSION, most: OUTBOX_ENTRIES, mostBytes: OUTBOX_BYTES },
    ...{ weighedEvery: OUTBOX_WEIGHED_EVERY, keptMs: EVENTS_KEPT_MS, place: PLACE },
  },
  webhookTold: WEBHOOK_TOLD as readonly string[],
  optOutSources: OPT_OUT_SOURCES as readonly string[],
  mostOptOutSources: MOST_OPT_OUT_SOURCES,
  personForgotten: ownErrorCode('person_forgotten'),
  accountChanged: ownErrorCode('account_changed'),
  keptMs: KEPT_MS as Readonly<Record<keyof typeof KEPT_MS, number>>,
  limits: LIMITS as Pick<
    typeof LIMITS,
    'sendRetentionSeconds' | 'otpErasureSeconds' | 'idempotencySeconds' | 'takenInSeconds' | 'smallSendRecipients'
  >,
};

/**
 * The codes, the names, the layout and the limits that Lua files ask for (`--- @constants NAME ...`), so that none of the
 * contract is spelled in Lua. A head, a result and the texts are tables there: status, attempts, in_flight, ...
 */
export function luaConstants(contract: typeof CONTRACT): LuaConstants {
  const { statuses, headLayout, resultLayout, limits } = contract;
  const resultBytes = widthOf(resultLayout);
  const numbers: Record<string, number> = {
    ...Object.fromEntries(statuses.map((status, code) => [status.toUpperCase(), code])),
    ...Object.fromEntries(
      Object.entries(offsetsOf(resultLayout)).map(([field, offset]) => [
        `${toSnakeCase(field).toUpperCase()}_AT`,
        offset,
      ]),
    ),
    ...Object.fromEntries(contract.states.map((state, code) => [state.toUpperCase(), code])),
    OTP: contract.kinds.otp!,
    PRIORITY_SPAN: contract.prioritySpan,
    HEAD_BYTES: widthOf(headLayout),
    ...Object.fromEntries(
      Object.entries(offsetsOf(headLayout)).map(([field, offset]) => [
        `HEAD_${toSnakeCase(field).toUpperCase()}_AT`,
        offset,
      ]),
    ),
    PLACE_BYTES: contract.recipientBytes + resultBytes,
    RESULT_BYTES: resultBytes,
    MOST_ATTEMPTS: 256 ** resultLayout.attempts! - 1,
    RECIPIENT_BYTES: contract.recipientBytes,
    ACTIVITY_PLACES: contract.activityFields.length,
    STATUSES: statuses.length,
    TOTAL_BITS: contract.totalBytes * 8,
    ACTIVITY_BITS: contract.activityBytes * 8,
    ACK_MS_PLACE: contract.activityFields.indexOf('ackMs'),
    SEALED_VERSION: contract.sealedVersion,
    ...Object.fromEntries(
      Object.entries(contract.parts).map(([part, code]) => [`PART_${toSnakeCase(part).toUpperCase()}`, code]),
    ),
    EVENT_ENTRY_VERSION: contract.outbox.version,
    OUTBOX_BYTES: contract.outbox.mostBytes,
    OUTBOX_ENTRIES: contract.outbox.most,
    OUTBOX_WEIGHED_EVERY: contract.outbox.weighedEvery,
    PLACE_LISTS: contract.outbox.place.lists,
    PLACE_OF_SEND: contract.outbox.place.ofSend,
    EVENTS_KEPT_MS: contract.outbox.keptMs,
    TOLD_FAILING: contract.webhookTold.indexOf('failing'),
    TOLD_RECOVERED: contract.webhookTold.indexOf('recovered'),
    BY_REPLY: contract.optOutSources.indexOf('reply'),
    MOST_OPT_OUT_SOURCES: contract.mostOptOutSources,
    PERSON_FORGOTTEN: contract.personForgotten,
    ACCOUNT_CHANGED: contract.accountChanged,
    LISTED_MS: contract.keptMs.list,
    BOOK_MS: contract.keptMs.book,
    ACTIVITY_MS: contract.keptMs.activity,
    SEND_RETENTION_MS: limits.sendRetentionSeconds * 1000,
    OTP_ERASURE_MS: limits.otpErasureSeconds * 1000,
    IDEMPOTENCY_MS: limits.idempotencySeconds * 1000,
    SMALL_SEND_RECIPIENTS: limits.smallSendRecipients,
    TAKEN_IN_MS: limits.takenInSeconds * 1000,
  };
  const names: Record<string, string> = {
    ...Object.fromEntries(contract.events.map((event) => [`EVENT_${event.toUpperCase()}`, event])),
    ...Object.fromEntries(contract.wants.map((want) => [`WANT_${want.toUpperCase()}`, want])),
  };
  return {
    ...Object.fromEntries(Object.entries(names).map(([name, value]) => [name, `'${value}'`])),
    ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)])),
    STATUS_NAMES: `{ ${statuses.map((status, code) => `[${code}] = '${status}'`).join(', ')} }`,
    knows_version: `function(byte) return ${contract.readVersions.map((each) => `byte == ${each}`).join(' or ')} end`,
    decode_head: decoder(headLayout),
    encode_head: encoder(headLayout),
    decode_result: decoder(resultLayout),
    encode_result: encoder(resultLayout),
    decode_texts: decoderInto(contract.textFields, `>${'Bc0'.repeat(contract.textFields.length)}`),
  };
}

/** Of the fields that lie from the byte `at` on, the first unless told. */
function decoder(layout: Layout): string {
  return decoderInto(Object.keys(layout), formatOf(layout));
}

function decoderInto(names: readonly string[], format: string): string {
  const fields = names.map(toSnakeCase);
  return `function(bytes, at)
  local ${fields.join(', ')} = struct.unpack('${format}', bytes, at or 1)
  return { ${fields.map((field) => `${field} = ${field}`).join(', ')} }
end`;
}

function encoder(layout: Layout): string {
  const values = Object.keys(layout).map((field) => `t.${toSnakeCase(field)}`);
  return `function(t) return struct.pack('${formatOf(layout)}', ${values.join(', ')}) end`;
}

/** As `struct` of Redis writes integers of so many bytes. */
function formatOf(layout: Layout): string {
  return `>${Object.values(layout)
    .map((bytes) => `I${bytes}`)
    .join('')}`;
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

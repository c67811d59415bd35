import type { SendKind } from '@gateway/contracts/content/message-content';
import { WANTS } from '@gateway/contracts/devices/device-state';
import { LIMITS } from '@gateway/contracts/limits';
import { MOST_OPT_OUT_SOURCES, OPT_OUT_SOURCES } from '@gateway/contracts/people/opt-outs';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { RECIPIENT_BYTES, RECORD_VERSION, RESULT_LAYOUT, resultOffsets } from '@gateway/contracts/sends/send-layout';
import { RECIPIENT_EVENTS, RECIPIENT_STATUSES, SEND_STATES } from '@gateway/contracts/sends/statuses';
import { SEALED_VERSION } from '../vault.js';
import type { LuaConstants } from './lua-source.js';

/** The parts of the contract that Lua gets. */
export const CONTRACT = {
  statuses: RECIPIENT_STATUSES as readonly string[],
  states: SEND_STATES as readonly string[],
  events: RECIPIENT_EVENTS as readonly string[],
  wants: WANTS as readonly string[],
  otp: 'otp' satisfies SendKind,
  resultLayout: RESULT_LAYOUT as Readonly<Record<string, number>>,
  recipientBytes: RECIPIENT_BYTES,
  recordVersion: RECORD_VERSION,
  sealedVersion: SEALED_VERSION,
  optOutSources: OPT_OUT_SOURCES as readonly string[],
  mostOptOutSources: MOST_OPT_OUT_SOURCES,
  personForgotten: ownErrorCode('person_forgotten'),
  limits: LIMITS as Pick<
    typeof LIMITS,
    'sendRetentionSeconds' | 'otpErasureSeconds' | 'idempotencySeconds' | 'takenInSeconds'
  >,
};

/**
 * The codes, the names, the layout and the limits that Lua files ask for (`--- @constants NAME ...`), so that none of the
 * contract is spelled in Lua. An encoded result is a table there: status, attempts, in_flight, ...
 */
export function luaConstants(contract: typeof CONTRACT): LuaConstants {
  const { statuses, resultLayout, limits } = contract;
  const fields = Object.keys(resultLayout).map(toSnakeCase);
  const offsets = Object.entries(resultOffsets(resultLayout));
  // As `struct` of Redis writes integers of so many bytes.
  const format = `'>${Object.values(resultLayout)
    .map((bytes) => `I${bytes}`)
    .join('')}'`;
  const numbers: Record<string, number> = {
    ...Object.fromEntries(statuses.map((status, code) => [status.toUpperCase(), code])),
    ...Object.fromEntries(offsets.map(([field, offset]) => [`${toSnakeCase(field).toUpperCase()}_AT`, offset])),
    RESULT_BYTES: Object.values(resultLayout).reduce((sum, bytes) => sum + bytes, 0),
    MOST_ATTEMPTS: 256 ** resultLayout.attempts! - 1,
    RECIPIENT_BYTES: contract.recipientBytes,
    RECORD_VERSION: contract.recordVersion,
    SEALED_VERSION: contract.sealedVersion,
    BY_REPLY: contract.optOutSources.indexOf('reply'),
    MOST_OPT_OUT_SOURCES: contract.mostOptOutSources,
    PERSON_FORGOTTEN: contract.personForgotten,
    SEND_RETENTION_MS: limits.sendRetentionSeconds * 1000,
    OTP_ERASURE_MS: limits.otpErasureSeconds * 1000,
    IDEMPOTENCY_MS: limits.idempotencySeconds * 1000,
    TAKEN_IN_MS: limits.takenInSeconds * 1000,
  };
  const names: Record<string, string> = {
    ...Object.fromEntries(contract.states.map((state) => [state.toUpperCase(), state])),
    ...Object.fromEntries(contract.events.map((event) => [`EVENT_${event.toUpperCase()}`, event])),
    ...Object.fromEntries(contract.wants.map((want) => [`WANT_${want.toUpperCase()}`, want])),
    OTP: contract.otp,
  };
  return {
    ...Object.fromEntries(Object.entries(names).map(([name, value]) => [name, `'${value}'`])),
    ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)])),
    STATUS_NAMES: `{ ${statuses.map((status, code) => `[${code}] = '${status}'`).join(', ')} }`,
    decode_result: `function(bytes)
  local ${fields.join(', ')} = struct.unpack(${format}, bytes)
  return { ${fields.map((field) => `${field} = ${field}`).join(', ')} }
end`,
    encode_result: `function(r) return struct.pack(${format}, ${fields.map((field) => `r.${field}`).join(', ')}) end`,
  };
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

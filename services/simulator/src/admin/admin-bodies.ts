import Joi from 'joi';
import type { BacklogRules } from '../accounts/account.js';
import type { Addressing } from '../directory/jids.js';
import { FAULT_POINTS, type FaultRuleInput } from '../faults/fault-book.js';
import type { NetworkSettings } from '../network/network.js';
import type { ScanOptions } from '../pairing/pairing-desk.js';
import type { PhoneHabits } from '../phones/phone-book.js';
import { AdminError } from './http-router.js';

export const number = Joi.string().pattern(/^\d{5,15}$/);
export const addressing = Joi.string().valid('pn', 'lid');

const faultRule = Joi.object({
  id: Joi.string(),
  on: Joi.string()
    .valid(...FAULT_POINTS)
    .required(),
  match: Joi.object({
    account: number,
    device: Joi.number().integer().min(0),
    recipient: Joi.string(),
    messageId: Joi.string(),
    addressing,
    xmlns: Joi.string(),
    collection: Joi.string(),
    queryId: Joi.string(),
  }).default({}),
  skip: Joi.number().integer().min(0),
  count: Joi.number().integer().min(1).allow(null),
  probability: Joi.number().min(0).max(1),
  do: Joi.object({
    delayMs: Joi.number().min(0),
    jitterMs: Joi.number().min(0),
    bytesPerSecond: Joi.number().min(1),
    silent: Joi.boolean(),
    dropAck: Joi.boolean(),
    ackError: Joi.number().integer(),
    accept: Joi.boolean(),
    closeBeforeAck: Joi.boolean(),
    closeAfterAck: Joi.boolean(),
    streamError: Joi.number().integer(),
    error: Joi.number().integer(),
    refuse: Joi.boolean(),
  })
    .min(1)
    .required(),
});

export interface FaultsBody {
  readonly latencyMs?: number;
  readonly rules?: FaultRuleInput[];
}

/** An array of rules, or `{ latencyMs?, rules? }`. */
const faults = Joi.alternatives(
  Joi.array().items(faultRule),
  Joi.object({ latencyMs: Joi.number().min(0), rules: Joi.array().items(faultRule) }),
);

export interface PhoneBody extends Partial<PhoneHabits> {
  readonly exists?: boolean;
  readonly staleLid?: boolean;
  /** Of a person who was known by a hidden identifier only. */
  readonly number?: string;
}

const phone = Joi.object({
  exists: Joi.boolean(),
  autoRead: Joi.boolean().allow('auto'),
  online: Joi.boolean(),
  picture: Joi.boolean(),
  badKeys: Joi.boolean().allow('leftOut'),
  staleLid: Joi.boolean(),
  number,
  readDelayMs: Joi.number().min(0),
});

export interface CodeBody {
  readonly number: string;
  readonly code: string;
  readonly addressing?: Addressing;
}

const code = Joi.object({ number: number.required(), code: Joi.string().required(), addressing });

/** What may stand behind the `?` of a scan. */
const scan = Joi.object({ number: Joi.string().pattern(/^\d+$/), addressing }).unknown();

export interface RefreshCodeBody {
  readonly number: string;
  readonly isForced?: boolean;
}

const refreshCode = Joi.object({ number: number.required(), isForced: Joi.boolean() });

export interface AccountBody {
  readonly pushName?: string;
  readonly business?: boolean;
  readonly addressing?: Addressing;
  readonly passkey?: boolean;
  readonly tokensRequired?: boolean;
  readonly hasSalt?: boolean;
  readonly saltIn?: 'history' | 'settings';
  readonly props?: Record<string, boolean>;
  readonly backlog?: Partial<BacklogRules>;
  readonly restrictions?: {
    reachoutLockedUntilMs?: number;
    reachoutLockType?: string;
    newChatCap?: { total: number; used: number; endsAtMs?: number };
  };
}

const account = Joi.object({
  pushName: Joi.string(),
  business: Joi.boolean(),
  addressing,
  passkey: Joi.boolean(),
  tokensRequired: Joi.boolean(),
  hasSalt: Joi.boolean(),
  saltIn: Joi.valid('history', 'settings'),
  props: Joi.object().pattern(/^\d{1,6}$/, Joi.boolean()),
  backlog: Joi.object({
    endMarkMs: Joi.number().integer().min(0).allow(null),
    isWithheld: Joi.boolean(),
    isHistoryWithheld: Joi.boolean(),
  }),
  restrictions: Joi.object({
    reachoutLockedUntilMs: Joi.number(),
    reachoutLockType: Joi.string(),
    newChatCap: Joi.object({
      total: Joi.number().required(),
      used: Joi.number().default(0),
      endsAtMs: Joi.number(),
    }),
  }),
});

export interface StatusBody {
  readonly to: string;
  readonly text: string;
  readonly undecryptable: boolean;
  readonly stanza: 'status' | 'message';
}

const status = Joi.object({
  to: number.required(),
  text: Joi.string().default('a status'),
  undecryptable: Joi.boolean().default(false),
  stanza: Joi.string().valid('status', 'message').default('status'),
});

type NetworkBody = Partial<
  Pick<NetworkSettings, 'minimumVersion' | 'clientExpirationMs' | 'serverPingMs' | 'statusAckMs' | 'refreshAfterScan'>
>;

const networkSettings = Joi.object({
  minimumVersion: Joi.array().items(Joi.number().integer().min(0)).max(3),
  clientExpirationMs: Joi.number().integer().min(0).allow(null),
  serverPingMs: Joi.number().integer().min(0),
  statusAckMs: Joi.number().integer().min(1),
  refreshAfterScan: Joi.boolean(),
});

const streamError = Joi.object({ code: Joi.number().integer().required() });

export const readFaultRule = reader<FaultRuleInput>(faultRule);
export const readFaults = reader<FaultRuleInput[] | FaultsBody>(faults);
export const readPhone = reader<PhoneBody>(phone);
export const readCode = reader<CodeBody>(code);
export const readStatus = reader<StatusBody>(status);
export const readNetworkSettings = reader<NetworkBody>(networkSettings);
export const readScan = (query: URLSearchParams): ScanOptions => check(scan, Object.fromEntries(query));
export const readRefreshCode = reader<RefreshCodeBody>(refreshCode);
export const readStreamError = reader<{ readonly code: number }>(streamError);
export const readAccount = reader<AccountBody>(account);

export function reader<T>(schema: Joi.Schema): (body: string) => T {
  return (body) => check(schema, parse(body));
}

function check<T>(schema: Joi.Schema, given: unknown): T {
  const { value, error } = schema.validate(given, { abortEarly: false });
  if (error) throw new AdminError(400, error.message);
  return value as T;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body || '{}');
  } catch {
    throw new AdminError(400, 'body is not JSON');
  }
}

import { randomBytes } from 'node:crypto';
import { toBase32 } from '../base32.js';
import { DEFAULT_TYPES, EVENT_TYPES } from '../events/events.js';
import type { DeviceId } from '../ids.js';
import type { ShardFilter } from '../shards.js';

/** `wh_` and 16 characters. */
export type WebhookId = string;

/**
 * `unverified`: its URL has not answered a `webhook.test` with a 2xx, and gets nothing else; `active`; `failing`: the last attempt
 * failed, and the next one comes at its time; `paused`: by a user; `disabled`: it answered 410, or failed for 72 hours. What happens
 * in a state other than `active` waits in the log.
 */
export const WEBHOOK_STATUSES = ['unverified', 'active', 'failing', 'paused', 'disabled'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** What an endpoint may subscribe to. `webhook.test` comes to every endpoint that asks for it. */
export const SUBSCRIBABLE_TYPES = EVENT_TYPES.filter((type) => type !== 'webhook.test');

/** What the owner of an endpoint chooses, beside where it is. */
export interface WebhookSettings {
  /** For people. */
  description: string;
  types: readonly string[];
  /** `null`: all of the workspace. */
  devices: readonly DeviceId[] | null;
  /** What people write, or only that they wrote. */
  content: 'full' | 'none';
  numbers: 'full' | 'masked';
  /** How long changes of lists are gathered into one request. */
  gatherSeconds: number;
  /** `strict`: what is refused holds up all that comes after it, instead of being put aside. */
  order: 'recipient' | 'strict';
  /** Of events that are told alone, so many requests at a time; those of one recipient one after the other. */
  concurrency: number;
}

export const DEFAULT_WEBHOOK_SETTINGS: WebhookSettings = {
  ...{
    description: '',
    types: DEFAULT_TYPES.filter((type) => type !== 'webhook.test'),
    devices: null,
    content: 'full',
    numbers: 'full',
  },
  gatherSeconds: 30,
  order: 'recipient',
  concurrency: 1,
};

export const WEBHOOK_LIMITS = {
  maxPerWorkspace: 50,
  maxUrlCharacters: 2_048,
  maxHeaders: 10,
  maxHeaderCharacters: 1_024,
  maxGatherSeconds: 300,
  /** How long a secret goes on signing beside the one that replaces it. */
  overlapHours: 24,
  maxOverlapHours: 168,
  /** In one request. */
  maxChanges: 500,
  /** For an answer to one request. */
  timeoutMs: 15_000,
  /** Attempts of an endpoint that can be looked up. */
  keptAttempts: 200,
  /** Events of an endpoint that are put aside; then the oldest go. */
  maxParked: 10_000,
  /** And of one recipient, or one writer. */
  maxParkedOfOne: 1_000,
  /** Asked for, and not done. */
  maxReplays: 100,
  maxConcurrency: 20,
} as const;

/** In both cases: the document has this pattern too, and JSON Schema knows no flags. */
const OURS =
  'webhook-.*|content-.*|transfer-.*|proxy-.*|connection|host|upgrade|expect|te|trailer|keep-alive|accept-encoding|user-agent'.replace(
    /[a-z]/g,
    (letter) => `[${letter.toUpperCase()}${letter}]`,
  );

/** Names of headers that the owner of an endpoint may have sent: not those that are ours to set, or say how a request is to be read. */
export const CUSTOM_HEADER = new RegExp(`^(?!(?:${OURS})$)[!#$%&'*+.^_\`|~0-9A-Za-z-]{1,100}$`);

/** What of the log was in one request. */
export interface TellRange {
  lane: 'prompt' | 'lists' | 'replay';
  after: string;
  to: string;
  /** Keys of those whom it leaves out. */
  without?: readonly string[];
  /** Nothing else is in it. */
  times?: EventTimes;
  /** The same. */
  shards?: ShardFilter;
}

/** When events happened, by their `timestamp`. */
export interface EventTimes {
  fromMs: number;
  beforeMs: number;
}

/** One request to an endpoint. */
export interface WebhookAttempt {
  /** Without it, it cannot be found again: a test, or what was put aside. */
  range?: TellRange;
  /** Its `webhook-id`: the same for all attempts of one delivery. */
  webhookId: string;
  atMs: number;
  tookMs: number;
  /** Of HTTP; `null` without an answer. */
  status: number | null;
  /** Why there was none. */
  error: string | null;
  /** The first 256 bytes of the answer. */
  answer: string;
}

/** Any 2xx, and nothing else: a redirect is no success. */
export function wasTaken({ status }: Pick<WebhookAttempt, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300;
}

export function makeWebhookId(): WebhookId {
  return `wh_${toBase32(randomBytes(10))}`;
}

export function isWebhookId(value: string): value is WebhookId {
  return /^wh_[0-9a-hjkmnp-tv-z]{16}$/.test(value);
}

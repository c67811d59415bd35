import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { toBase32 } from '@gateway/contracts/base32';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Breaker } from '@gateway/contracts/webhooks/breaker';
import { makeWebhookSecret, type SigningSecret, schemeOf, secretsAt } from '@gateway/contracts/webhooks/signature';
import {
  DEFAULT_WEBHOOK_SETTINGS,
  isWebhookId,
  makeWebhookId,
  WEBHOOK_LIMITS,
  type WebhookId,
  type WebhookSettings,
  type WebhookStatus,
} from '@gateway/contracts/webhooks/webhook';
import { systemClock } from '@gateway/runtime/clock';
import { readSurely } from '../core/confirming/write-together.js';
import { bytes, defineScript, mixed, number, type ScriptArgument, text } from '../core/scripts/define-script.js';
import { isOne, numeric } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { WorkspaceGoneError } from '../core/workspace-gone-error.js';
import { ringEventBell } from '../events/event-bells.js';
import { openEvents } from '../events/open-events.js';
import { LANES } from './delivering/lanes.js';
import { chooseParkingKey } from './delivering/parked/parking-key.js';

const createStep = defineScript({
  name: 'create-webhook',
  whenFull: 'refused',
  keys: ['webhooks', 'webhook', 'log', 'parkingKey', 'token?'],
  args: {
    ...{ id: text, revision: text, most: number, settings: text, target: bytes, secrets: bytes },
    ...{ made: bytes, '...lanes': text },
  },
  reply: numeric,
});
const changeStep = defineScript({
  name: 'change-webhook',
  whenFull: 'runs',
  keys: ['webhook'],
  args: { revisionBefore: text, revisionAfter: text, '...fields': mixed },
  reply: (reply) => reply as 'done' | 'gone' | 'changed',
});
const deleteStep = defineScript({
  name: 'delete-webhook',
  whenFull: 'runs',
  keys: ['webhooks', 'webhook', 'marks', '...belongings'],
  args: { id: text, nowMs: number },
  reply: isOne,
});

/** Where an endpoint is: all of it may be secret. */
export interface WebhookTarget {
  url: string;
  /** Sent with each request. */
  headers: Readonly<Record<string, string>>;
}

export interface Webhook {
  id: WebhookId;
  status: WebhookStatus;
  settings: WebhookSettings;
  target: WebhookTarget;
  /** The newest first. */
  secrets: readonly SigningSecret[];
  /** Of Redis time. What happened before, as far as clocks agree, is not for it. */
  createdAtMs: number;
  /** Also that is for it, if it comes into the log later: Redis time was set back since it was made. */
  tellsAll?: true;
  /** When its URL passed the test. */
  verifiedAtMs?: number;
  /** Since when each attempt failed. */
  failingSinceMs?: number;
  /** Another one after each change. */
  revision: string;
  /** See `readParkingKey`. Sealed with `target`: who can post to it has this, too. The version before made none. */
  parkingKey?: Buffer;
}

/** One of which it cannot be said here where it is: that is sealed with a key that is lost, or not configured here yet. */
export interface UnreadableWebhook extends Omit<Webhook, 'target' | 'secrets' | 'parkingKey'> {
  target?: undefined;
  secrets?: undefined;
}

export type ListedWebhook = Webhook | UnreadableWebhook;

export type NewWebhook = Pick<Webhook, 'settings' | 'target' | 'secrets'>;

/**
 * Makes an endpoint, `unverified`. `full`: the workspace has 50. Throws `WorkspaceGoneError` when it has been deleted since the caller
 * was let in.
 * @param options.keyId of the token of that caller.
 */
export async function createWebhook(
  store: Store,
  workspace: Workspace,
  wanted: NewWebhook,
  { keyId }: { keyId?: string } = {},
): Promise<Webhook | 'full'> {
  const id = makeWebhookId();
  const { webhooks, webhook, eventLog: log, parkingKey, token } = workspaceKeys(store.space, workspace);
  const key = webhook(id);
  // First: from the moment of its making on nothing is missing.
  await openEvents(store, workspace, keyId === undefined ? {} : { keyId });
  const parking = await chooseParkingKey(store, workspace);
  const created = await createStep(store, {
    ...{ webhooks, webhook: key, log, id, revision: makeRevision(), most: WEBHOOK_LIMITS.maxPerWorkspace },
    token: keyId === undefined ? undefined : token(keyId),
    settings: JSON.stringify(wanted.settings),
    target: seal(store, key, 'target', sealedTarget(wanted.target, parking.key)),
    secrets: seal(store, key, 'secrets', wanted.secrets),
    ...{ parkingKey, made: parking.sealed, lanes: LANES },
  });
  if (created < 0) throw new WorkspaceGoneError();
  await store.confirmWrites(key);
  return created ? (await readWebhook(store, workspace, id))! : 'full';
}

/** `undefined` when there is none. Throws `UnknownKeyError` when its key is not configured here. */
export async function readWebhook(store: Store, workspace: Workspace, id: WebhookId): Promise<Webhook | undefined> {
  const found = await readSealed(store, workspace, id);
  return found && { ...found.known, ...found.open() };
}

/** The same, also where it is not known here where it is: so it can be shown, and deleted. */
export async function findWebhook(
  store: Store,
  workspace: Workspace,
  id: WebhookId,
): Promise<ListedWebhook | undefined> {
  const found = await readSealed(store, workspace, id);
  if (!found) return undefined;
  try {
    return { ...found.known, ...found.open() };
  } catch {
    return found.known;
  }
}

/** All of a workspace, the oldest first. */
export async function listWebhooks(store: Store, workspace: Workspace): Promise<ListedWebhook[]> {
  const ids = await store.redis.smembers(workspaceKeys(store.space, workspace).webhooks);
  const found = await Promise.all(ids.map((id) => findWebhook(store, workspace, id)));
  return found.flatMap((each) => each ?? []).sort((one, other) => one.createdAtMs - other.createdAtMs);
}

interface SealedWebhook {
  known: UnreadableWebhook;
  open(): Pick<Webhook, 'target' | 'secrets' | 'parkingKey'>;
}

async function readSealed(store: Store, workspace: Workspace, id: WebhookId): Promise<SealedWebhook | undefined> {
  if (!isWebhookId(id)) return undefined;
  const key = workspaceKeys(store.space, workspace).webhook(id);
  const { status, settings, target, secrets, createdAtMs, tellsAll, verifiedAtMs, revision, breaker } =
    await store.redis.hgetallBuffer(key);
  if (!status) return undefined;
  const { sinceMs } = JSON.parse(breaker?.toString() || '{}') as Breaker;
  const known = {
    id,
    status: status.toString() as WebhookStatus,
    // One that was made before a setting was there has its default.
    settings: { ...DEFAULT_WEBHOOK_SETTINGS, ...JSON.parse(settings!.toString()) },
    createdAtMs: Number(createdAtMs),
    ...(tellsAll && { tellsAll: true as const }),
    ...(verifiedAtMs && { verifiedAtMs: Number(verifiedAtMs) }),
    ...(sinceMs !== undefined && { failingSinceMs: sinceMs }),
    revision: revision!.toString(),
  };
  return {
    known,
    open() {
      const { parkingKey, ...place } = open(store, key, 'target', target!) as SealedTarget;
      const parking = parkingKey === undefined ? {} : { parkingKey: Buffer.from(parkingKey, 'base64') };
      return { target: place, secrets: open(store, key, 'secrets', secrets!), ...parking };
    },
  };
}

interface SealedTarget extends WebhookTarget {
  /** In base64. */
  parkingKey?: string;
}

function sealedTarget(target: WebhookTarget, parkingKey: Buffer | undefined): SealedTarget {
  return { ...target, ...(parkingKey && { parkingKey: parkingKey.toString('base64') }) };
}

export interface WebhookChange {
  settings?: Partial<WebhookSettings>;
  target?: Partial<WebhookTarget>;
}

const MAX_ATTEMPTS = 10;

/**
 * Changes what is given, and leaves all else. At another URL or with other headers it is `unverified` again, unless it is paused or
 * disabled: it is that then, too, when it is resumed. `undefined` when there is no such endpoint. Safe to repeat.
 */
export function changeWebhook(
  store: Store,
  workspace: Workspace,
  id: WebhookId,
  change: WebhookChange,
): Promise<Webhook | undefined> {
  return update({ store, workspace, id }, (before, key) => changedFields(store, key, before, change));
}

function changedFields(
  store: Store,
  key: string,
  { settings, target, status, parkingKey }: Webhook,
  change: WebhookChange,
): ScriptArgument[] {
  const wanted = { settings: { ...settings, ...change.settings }, target: { ...target, ...change.target } };
  const fields: ScriptArgument[] = [];
  if (!isDeepStrictEqual(wanted.settings, settings)) fields.push('settings', JSON.stringify(wanted.settings));
  if (isDeepStrictEqual(wanted.target, target)) return fields;
  const place = sealedTarget(wanted.target, parkingKey);
  fields.push('target', seal(store, key, 'target', place), 'verifiedAtMs', '', 'breaker', '');
  if (status === 'active' || status === 'failing') fields.push('status', 'unverified');
  return fields;
}

/** Nothing more is posted to it, and its events wait. Safe to repeat. */
export function pauseWebhook(store: Store, workspace: Workspace, id: WebhookId): Promise<Webhook | undefined> {
  return update({ store, workspace, id }, () => ['status', 'paused']);
}

/**
 * It goes on where it was, with its failures forgotten; one that never passed its test must do so first. One that is neither paused
 * nor disabled stays as it is. Safe to repeat.
 */
export function resumeWebhook(store: Store, workspace: Workspace, id: WebhookId): Promise<Webhook | undefined> {
  return update({ store, workspace, id }, ({ status, verifiedAtMs }) => {
    if (status !== 'paused' && status !== 'disabled') return [];
    return ['status', verifiedAtMs === undefined ? 'unverified' : 'active', 'breaker', ''];
  });
}

const HOUR_MS = 3_600_000;

/**
 * A new secret of the same kind, the first of its `secrets`. For `overlapHours` the one before it goes on signing beside it; an
 * older one ends at once. Each call makes another one. `undefined` when there is no such endpoint.
 */
export function rotateSecret(
  store: Store,
  workspace: Workspace,
  id: WebhookId,
  { overlapHours, nowMs }: { overlapHours: number; nowMs: number },
): Promise<Webhook | undefined> {
  return update({ store, workspace, id }, ({ secrets: [newest] }, key) => {
    const replaced = { secret: newest!.secret, endsAtMs: nowMs + overlapHours * HOUR_MS };
    const secrets = [{ secret: makeWebhookSecret(schemeOf(newest!.secret)) }, ...secretsAt([replaced], nowMs)];
    return ['secrets', seal(store, key, 'secrets', secrets)];
  });
}

interface Place {
  store: Store;
  workspace: Workspace;
  id: WebhookId;
}
type FieldsOf = (before: Webhook, key: string) => ScriptArgument[];

/** The last change of an endpoint that this process has begun: of dozens at the same time none would get through in ten attempts. */
const changing = new Map<string, Promise<unknown>>();

/** Changes fields that follow from what an endpoint is, after the other changes of this process. */
function update(place: Place, fieldsOf: FieldsOf): Promise<Webhook | undefined> {
  const key = workspaceKeys(place.store.space, place.workspace).webhook(place.id);
  const change = () => tryUpdate(place, key, fieldsOf);
  const mine = (changing.get(key) ?? Promise.resolve()).then(change, change);
  changing.set(key, mine);
  const forget = () => changing.get(key) === mine && changing.delete(key);
  mine.then(forget, forget);
  return mine;
}

async function tryUpdate(place: Place, key: string, fieldsOf: FieldsOf): Promise<Webhook | undefined> {
  const { store, workspace, id } = place;
  // Also where it is as it is wanted: what made it so may not have been confirmed, and that is why it is asked for again.
  const found = await readSurely(store, key, {
    read: () => writeFields(place, key, fieldsOf),
    isAnything: (each) => each !== undefined,
  });
  if (found !== 'written') return found;
  await ringEventBell(store, workspace);
  return readWebhook(store, workspace, id);
}

/** Unless another process changes it in between: then again from the start. An endpoint that has them already is answered as it is. */
async function writeFields(
  { store, workspace, id }: Place,
  key: string,
  fieldsOf: FieldsOf,
): Promise<'written' | Webhook | undefined> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = await readWebhook(store, workspace, id);
    if (!before) return undefined;
    const fields = fieldsOf(before, key);
    if (fields.length === 0) return before;
    const revisions = { revisionBefore: before.revision, revisionAfter: makeRevision() };
    if ((await changeStep(store, { webhook: key, ...revisions, fields })) !== 'changed') return 'written';
  }
  throw new Error('a webhook is changed all the time');
}

/** With all that waits for it. `false`: there was none. Safe to repeat. */
export async function deleteWebhook(store: Store, workspace: Workspace, id: WebhookId): Promise<boolean> {
  // The keys of what belongs to others begin with their ids.
  if (!isWebhookId(id)) return false;
  const keys = workspaceKeys(store.space, workspace);
  const deleted = await deleteStep(store, {
    ...{ webhooks: keys.webhooks, webhook: keys.webhook(id), marks: keys.eventMarks, id, nowMs: systemClock.nowMs() },
    belongings: [
      ...[keys.webhookAttempts(id), keys.webhookAttemptTimes(id)],
      ...[keys.webhookParked(id), keys.webhookParkedDue(id), keys.webhookParkedSince(id)],
      keys.webhookReplays(id),
    ],
  });
  await store.confirmWrites(keys.webhooks);
  return deleted;
}

function makeRevision(): string {
  return toBase32(randomBytes(10));
}

function seal(store: Store, key: string, field: 'target' | 'secrets', value: object): Buffer {
  return store.vault.seal(JSON.stringify(value), 'webhook', `${key}/${field}`);
}

function open(store: Store, key: string, field: 'target' | 'secrets', sealed: Buffer) {
  return JSON.parse(store.vault.open(sealed, 'webhook', `${key}/${field}`).toString());
}

import type { MessageContent, Reply, SendKind } from '@gateway/contracts/content/message-content';
import { type DeviceAddress, type MessageId, makeMessageId, parseMessageId } from '@gateway/contracts/ids';
import { type Priority, priorityOf } from '@gateway/contracts/jobs';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys, sendKeys, sessionKeyPrefix, shardKeys } from '@gateway/contracts/redis-keys';
import { packSend } from '@gateway/contracts/sends/packed-send';
import { shardOf } from '@gateway/contracts/shards';
import { holdOf } from '../../blobs/blobs.js';
import { bytes, defineScript, flag, number, text } from '../../core/scripts/define-script.js';
import { nothing } from '../../core/scripts/replies.js';
import { isMade } from '../../core/scripts/unknown-version-error.js';
import type { Store } from '../../core/store.js';
import { digest, UnknownKeyError } from '../../core/vault.js';
import { readAccountEpoch, readIdKey } from '../../devices/devices.js';
import { processOf } from '../../fleet/process-of.js';
import { keysOfSend } from '../keys-of-send.js';
import type { StoredContent } from '../read-send.js';
import { type NewRepeat, repeatFields } from './idempotency.js';

const acceptStep = defineScript({
  name: 'accept-send',
  whenFull: 'refused',
  keys: [
    'record',
    'content',
    'open',
    'due',
    'backlog',
    'kept',
    'sends',
    'activity',
    'totals',
    'promised',
    'device',
    'deviceOwner',
    'idempotency?',
  ],
  args: {
    ...{ messageId: text, accountEpoch: number, nowMs: number, packed: bytes, sealed: bytes, contentDiesAtMs: number },
    ...{ finishAtMs: number, fingerprint: bytes, answer: text, sessionPrefix: text },
    ...{ attempt: number, owner: text, quotaBytes: number, freeMessages: number, isBounded: flag },
  },
  reply: (reply) => reply as [outcome: 1 | 0 | -1 | -2 | -3, session: string, ...spent: string[]],
});
const forgetEndedStep = defineScript({
  name: 'forget-ended-send',
  whenFull: 'runs',
  readsSend: true,
  keys: ['record', 'content', 'kept'],
  args: { owner: text, entry: text },
  reply: nothing,
});

export interface NewSend {
  kind: SendKind;
  /** Without it, that of its kind. */
  priority?: Priority;
  /** Sealed at rest. */
  content: MessageContent;
  /** Messages per recipient. */
  parts: number;
  /** The message that this one answers. */
  reply?: Reply;
  /** Normalised digits, each once. */
  recipients: readonly string[];
  owner: string;
  requestId: string;
  /** `traceparent` of what is done for it later, if it is traced. */
  trace?: string | undefined;
  nowMs: number;
  expiresAtMs: number;
  /** When its last message is promised to have gone out; without it, at its expiry. */
  finishAtMs?: number;
  /** Of the account that it is accepted for: see `readDeviceState`. Without one, of the account that is there. */
  accountEpoch?: number;
  /**
   * Bytes that the sends of this owner may take at this device, ended ones included: those are forgotten before their time,
   * the oldest first, when there are more. Without it there is no bound.
   */
  quotaBytes?: number;
  /**
   * How many more messages may wait in Redis, of all callers. Of what that would be without the messages of this owner at this
   * device, those may be a quarter; and, unless this is a small send, those of the device half. Without it there is no bound.
   */
  freeMessages?: number;
}

export interface AcceptedSend {
  messageId: MessageId;
  /** The process that owns the device, and is to be told. */
  owner: string | undefined;
  priority: Priority;
  /** How many ended sends of the same owner were forgotten for it. */
  forgotten: number;
}

/** The sends of this owner take, or wait for, all that they may; one-time passwords are not refused for that. */
export class SendsFullError extends Error {}

/** Another account was linked since the device was looked at, or the device has gone. */
export class OtherAccountError extends Error {}

const MAX_TAG_ATTEMPTS = 5;

/**
 * Writes a send down and promises it, in one atomic step whatever the number of recipients: it goes out whether its owner is
 * told of it or not, and when the reply is lost, too. Throws `SendsFullError`, having written nothing, when the sends of this
 * owner that have not ended take, or wait for, all that they may, and `OtherAccountError` when the account that it was for has left.
 */
export async function acceptSend(store: Store, address: DeviceAddress, send: NewSend): Promise<AcceptedSend> {
  const accepted = await writeSend(store, address, send);
  if (!accepted) throw new Error('a send without an idempotency key cannot be a repeat');
  return accepted;
}

/** The same under an idempotency key: `undefined`, having written nothing, when the key stands for a send already. */
export async function acceptSendOnce(
  store: Store,
  address: DeviceAddress,
  send: NewSend,
  repeat: NewRepeat,
): Promise<AcceptedSend | undefined> {
  return writeSend(store, address, send, repeat);
}

async function writeSend(
  store: Store,
  address: DeviceAddress,
  send: NewSend,
  repeat?: NewRepeat,
): Promise<AcceptedSend | undefined> {
  const sessionPrefix = sessionKeyPrefix(store.space, shardOf(address));
  const { kind, parts, recipients, owner, requestId, trace, nowMs, expiresAtMs } = send;
  const accountEpoch = send.accountEpoch ?? (await readAccountEpoch(store, address));
  const { quotaBytes = 0, freeMessages = 0 } = send;
  const priority = priorityOf(send);
  const secret = repeat && (await readIdSecret(store, address));
  const blob = send.content.kind === 'media' ? holdOf(send.content) : '';
  let attempt = 0;
  for (let made = 0; made < MAX_TAG_ATTEMPTS; made++) {
    const messageId =
      repeat && secret ? repeatableId(address, { repeat, secret, nowMs, attempt }) : makeMessageId(address);
    const keys = keysOfSend(store, address, parseMessageId(messageId)!.tag);
    const [outcome, session, ...spent] = await acceptStep(store, {
      sends: shardKeys(store.space, shardOf(address)).sends(address.workspace),
      ...keys,
      ...{ deviceOwner: deviceKeys(store.space, address).owner, sessionPrefix },
      ...{ messageId, attempt, accountEpoch, nowMs, owner, quotaBytes, freeMessages, isBounded: priority !== 'otp' },
      packed: packSend({
        state: 'open',
        ...{ kind, priority, parts, recipients, nowMs, expiresAtMs, accountEpoch },
        texts: { messageId, owner, requestId, blob, ...(trace && { trace }) },
      }),
      sealed: sealContent(store, keys.content, send),
      contentDiesAtMs: contentDiesAt(send),
      finishAtMs: send.finishAtMs ?? expiresAtMs,
      ...(repeat ? repeatFields(store, repeat) : { fingerprint: '', answer: '' }),
    });
    // Under a key those come first that sends had for which it stands no more.
    if (outcome === 0) attempt = Math.max(attempt + 1, Number(session));
    if (outcome === -3) throw new OtherAccountError();
    if (outcome === -2) throw new SendsFullError();
    if (outcome === -1) return undefined;
    if (outcome === 1) {
      await store.confirmWrites(keys.record);
      const forgotten = await forgetEnded(store, address, { owner: send.owner, spent });
      return { messageId, priority, owner: session === '' ? undefined : processOf(session), forgotten };
    }
  }
  throw new Error('no free tag for a send: the random source repeats itself');
}

/**
 * The id of a send under an idempotency key follows from the request: should Redis forget the send in a failover, its repeat has
 * the same platform ids, and phones show it once.
 */
function repeatableId(
  address: DeviceAddress,
  { repeat, secret, nowMs, attempt }: { repeat: NewRepeat; secret: Buffer; nowMs: number; attempt: number },
): MessageId {
  const day = Math.floor(nowMs / (LIMITS.idempotencySeconds * 1000));
  return makeMessageId(address, digest(secret, ['messageId', repeat.key, repeat.fingerprint, day, attempt]));
}

/**
 * The key of the device's platform ids, which follow from it anyway: when encryption keys are rotated it is encrypted again, and stays
 * the same. Where this process cannot open it, for it lacks an encryption key, the send is accepted all the same.
 */
async function readIdSecret(store: Store, address: DeviceAddress): Promise<Buffer> {
  const idKey = await readIdKey(store, address).catch((thrown: unknown) => {
    if (!(thrown instanceof UnknownKeyError)) throw thrown;
    return undefined;
  });
  return idKey ?? store.vault.subkey('messageId');
}

/** Answers how many. What breaks off here is told again to the next send of this owner; this one is promised all the same. */
async function forgetEnded(
  store: Store,
  address: DeviceAddress,
  { owner, spent }: { owner: string; spent: readonly string[] },
): Promise<number> {
  const { keptSends } = deviceKeys(store.space, address);
  const forgotten = await Promise.all(
    spent.map(async (entry) => {
      const { tag } = parseMessageId(entry.slice(0, entry.indexOf(' ')))!;
      const keys = sendKeys(store.space, address, tag);
      return isMade(forgetEndedStep(store, { ...keys, kept: keptSends, owner, entry })).catch(() => false);
    }),
  );
  return forgotten.filter((isForgotten) => isForgotten).length;
}

function sealContent(store: Store, place: string, { content, reply }: NewSend): Buffer {
  return store.vault.seal(
    JSON.stringify({ content, ...(reply && { reply }) } satisfies StoredContent),
    'content',
    place,
  );
}

/**
 * When nothing needs what a send says any more, however it ends: a phone that comes online late may ask for it again. The end of a
 * send brings this forward, and nothing puts it off.
 */
function contentDiesAt({ kind, expiresAtMs }: NewSend): number {
  return expiresAtMs + (kind === 'otp' ? LIMITS.otpErasureSeconds : LIMITS.sendRetentionSeconds) * 1000;
}

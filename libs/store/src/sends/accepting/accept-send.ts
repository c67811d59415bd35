import type { MessageContent, Reply, SendKind } from '@gateway/contracts/content/message-content';
import { type DeviceAddress, type MessageId, makeMessageId, parseMessageId } from '@gateway/contracts/ids';
import { priorityOf } from '@gateway/contracts/jobs';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { emptyResults, packRecipients, RECORD_VERSION } from '@gateway/contracts/sends/send-layout';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { systemClock } from '@gateway/runtime/clock';
import { holdOf } from '../../blobs/blobs.js';
import { bytes, defineScript, flag, mixed, number, text } from '../../core/scripts/define-script.js';
import { nothing, numeric } from '../../core/scripts/replies.js';
import { isMade } from '../../core/scripts/unknown-version-error.js';
import type { Store } from '../../core/store.js';
import { keysOfSend, SEND_AND_DEVICE } from '../keys-of-send.js';
import { type NewRepeat, repeatFields } from './idempotency.js';

const acceptStep = defineScript({
  name: 'accept-send',
  whenFull: 'refused',
  keys: ['record', 'recipients', 'results', 'accepting', 'kept', 'device', 'idempotency?'],
  args: {
    ...{ messageId: text, accountEpoch: number, nowMs: number, packedRecipients: bytes, emptyResults: bytes },
    ...{ fingerprint: bytes, answer: text },
    ...{ owner: text, quotaBytes: number, isBounded: flag, '...fields': mixed },
  },
  reply: (reply) => reply as [outcome: 1 | 0 | -1 | -2 | -3, ...spent: string[]],
});
const openStep = defineScript({
  name: 'open-send',
  whenFull: 'runs',
  readsSend: true,
  keys: [...SEND_AND_DEVICE, 'accepting'],
  args: { nowMs: number },
  reply: numeric,
});
const dropStep = defineScript({
  name: 'drop-accepting-send',
  whenFull: 'runs',
  readsSend: true,
  keys: ['record', 'recipients', 'results', 'accepting', 'released', 'kept', 'idempotency?'],
  args: { messageId: text },
  reply: nothing,
});
const forgetEndedStep = defineScript({
  name: 'forget-ended-send',
  whenFull: 'runs',
  readsSend: true,
  keys: ['record', 'recipients', 'results', 'kept', 'idempotency?'],
  args: { owner: text, entry: text },
  reply: nothing,
});

export interface NewSend {
  kind: SendKind;
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
  nowMs: number;
  expiresAtMs: number;
  /** Of the account that it is accepted for: see `readDeviceState`. Without one, of the first. */
  accountEpoch?: number;
  /**
   * Bytes that the sends of this owner may take at this device, ended ones included: those are forgotten before their time,
   * the oldest first, when there are more. Without it there is no bound.
   */
  quotaBytes?: number;
}

export interface AcceptedSend {
  messageId: MessageId;
  /** How many ended sends of the same owner were forgotten for it. */
  forgotten: number;
}

/** No room for another send of this owner; for one-time passwords there is. */
export class SendsFullError extends Error {}

/** Another account was linked since the device was looked at. */
export class OtherAccountError extends Error {}

const MAX_TAG_ATTEMPTS = 5;

/**
 * Writes a send down, in one atomic step whatever the number of recipients. It counts as promised only once its job
 * is in the queue and `openSend` was called; until then it can be dropped without a trace. Throws `SendsFullError`, having
 * written nothing, when the sends of this owner that have not ended take all that they may, and `OtherAccountError` when the
 * account that it was for has left.
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
  const { acceptingSends, keptSends, device } = deviceKeys(store.space, address);
  const { accountEpoch = 0 } = send;
  const quota = { owner: send.owner, quotaBytes: send.quotaBytes ?? 0, isBounded: priorityOf(send) !== 'otp' };
  for (let attempt = 0; attempt < MAX_TAG_ATTEMPTS; attempt++) {
    const messageId = makeMessageId(address);
    const { tag } = parseMessageId(messageId)!;
    const keys = sendKeys(store.space, address, tag);
    const [outcome, ...spent] = await acceptStep(store, {
      ...{ ...keys, accepting: acceptingSends, kept: keptSends, device },
      ...{ messageId, accountEpoch, nowMs: send.nowMs, ...quota },
      packedRecipients: packRecipients(send.recipients),
      emptyResults: emptyResults(send.recipients.length, send.nowMs),
      ...(repeat ? repeatFields(store, repeat) : { fingerprint: '', answer: '' }),
      fields: recordFields(store, keys.record, send),
    });
    if (outcome === -3) throw new OtherAccountError();
    if (outcome === -2) throw new SendsFullError();
    if (outcome === -1) return undefined;
    if (outcome === 1) {
      return { messageId, forgotten: await forgetEnded(store, address, { owner: send.owner, spent }) };
    }
  }
  throw new Error('no free tag for a send: the random source repeats itself');
}

/** Answers how many. What breaks off here is told again to the next send of this owner. */
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
      const idempotency = (await store.redis.hget(keys.record, 'idempotency')) ?? undefined;
      return isMade(forgetEndedStep(store, { ...keys, kept: keptSends, idempotency, owner, entry }));
    }),
  );
  return forgotten.filter((isForgotten) => isForgotten).length;
}

function recordFields(store: Store, recordKey: string, send: NewSend) {
  const total = send.recipients.length;
  const counts = RECIPIENT_STATUSES.flatMap((status) => [status, status === 'queued' ? total : 0]);
  return [
    ...['v', RECORD_VERSION, 'kind', send.kind, 'total', total, 'parts', send.parts],
    ...['content', store.vault.seal(JSON.stringify(send.content), 'content', `${recordKey}/content`)],
    ...(send.content.kind === 'media' ? ['blob', holdOf(send.content)] : []),
    ...(send.reply ? ['reply', store.vault.seal(JSON.stringify(send.reply), 'reply', `${recordKey}/reply`)] : []),
    ...['owner', send.owner, 'requestId', send.requestId],
    ...(send.accountEpoch ? ['accountEpoch', send.accountEpoch] : []),
    ...['createdAtMs', send.nowMs, 'expiresAtMs', send.expiresAtMs],
    ...counts,
  ];
}

/**
 * The job is in the queue: from now on the send is promised. Safe to repeat. It is cancelled at once when the account that it
 * was for has left. `false` when there is no such send: a process that took longer than the grace time to get here must not
 * promise it.
 */
export async function openSend(
  store: Store,
  address: DeviceAddress,
  messageId: MessageId,
  { nowMs = systemClock.nowMs() }: { nowMs?: number } = {},
): Promise<boolean> {
  const keys = keysOfSend(store, address, parseMessageId(messageId)!.tag);
  const { acceptingSends } = deviceKeys(store.space, address);
  return (await openStep(store, { ...keys, accepting: acceptingSends, nowMs })) !== -1;
}

/** Ends the doubt about sends that were written down a while ago and never opened: promised if their job exists, else dropped. */
export async function dropAbandonedSends(
  store: Store,
  address: DeviceAddress,
  options: { nowMs: number; hasJob: (messageId: MessageId) => Promise<boolean> },
): Promise<void> {
  const { acceptingSends, releasedBlobs, keptSends } = deviceKeys(store.space, address);
  const beforeMs = options.nowMs - LIMITS.acceptingGraceSeconds * 1000;
  for (const messageId of await store.redis.zrangebyscore(acceptingSends, '-inf', beforeMs)) {
    if (await options.hasJob(messageId)) {
      await isMade(openSend(store, address, messageId, options));
      continue;
    }
    const keys = sendKeys(store.space, address, parseMessageId(messageId)!.tag);
    const idempotency = (await store.redis.hget(keys.record, 'idempotency')) ?? undefined;
    const places = { ...keys, accepting: acceptingSends, released: releasedBlobs, kept: keptSends, idempotency };
    await isMade(dropStep(store, { ...places, messageId }));
  }
}

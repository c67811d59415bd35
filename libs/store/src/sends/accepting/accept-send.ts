import type { MessageContent, Reply, SendKind } from '@gateway/contracts/content/message-content';
import { type DeviceAddress, type MessageId, makeMessageId, parseMessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { emptyResults, packRecipients, RECORD_VERSION } from '@gateway/contracts/sends/send-layout';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { holdOf } from '../../blobs/blobs.js';
import type { Store } from '../../core/store.js';
import { type NewRepeat, repeatFields } from './idempotency.js';

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

const MAX_TAG_TRIES = 5;

/**
 * Writes a send down, in one atomic step whatever the number of recipients. It counts as promised only once its job
 * is in the queue and `openSend` was called; until then it can be dropped without a trace. Throws `SendsFullError`, having
 * written nothing, when the sends of this owner that have not ended take all that they may.
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
  const { acceptingSends, keptSends } = deviceKeys(store.space, address);
  const quota = [send.owner, send.quotaBytes ?? 0, send.kind === 'otp' ? 0 : 1];
  for (let attempt = 0; attempt < MAX_TAG_TRIES; attempt++) {
    const messageId = makeMessageId(address);
    const { tag } = parseMessageId(messageId)!;
    const keys = sendKeys(store.space, address, tag);
    const reply = await store.run(
      'accept-send',
      [keys.record, keys.recipients, keys.results, acceptingSends, keptSends, ...(repeat ? [repeat.key] : [])],
      [
        messageId,
        send.nowMs,
        packRecipients(send.recipients),
        emptyResults(send.recipients.length, send.nowMs),
        ...(repeat ? repeatFields(store, repeat) : ['', '', '']),
        ...quota,
        ...recordFields(store, keys.record, send),
      ],
    );
    const [outcome, ...spent] = reply as [1 | 0 | -1 | -2, ...string[]];
    if (outcome === -2) throw new SendsFullError();
    if (outcome === -1) return undefined;
    if (outcome === 1) {
      await forgetEnded(store, address, { owner: send.owner, spent });
      return { messageId, forgotten: spent.length };
    }
  }
  throw new Error('no free tag for a send: the random source repeats itself');
}

/** What breaks off here is told again to the next send of this owner. */
async function forgetEnded(
  store: Store,
  address: DeviceAddress,
  { owner, spent }: { owner: string; spent: readonly string[] },
): Promise<void> {
  const { keptSends } = deviceKeys(store.space, address);
  await Promise.all(
    spent.map(async (entry) => {
      const { tag } = parseMessageId(entry.slice(0, entry.indexOf(' ')))!;
      const { record, recipients, results } = sendKeys(store.space, address, tag);
      const idempotency = await store.redis.hget(record, 'idempotency');
      const places = [record, recipients, results, keptSends, ...(idempotency ? [idempotency] : [])];
      await store.run('forget-ended-send', places, [owner, entry]);
    }),
  );
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
    ...['createdAtMs', send.nowMs, 'expiresAtMs', send.expiresAtMs],
    ...counts,
  ];
}

/**
 * The job is in the queue: from now on the send is promised. Safe to repeat. `false` when there is no such send: whoever
 * took longer than the grace time to get here must not promise it.
 */
export async function openSend(store: Store, address: DeviceAddress, messageId: MessageId): Promise<boolean> {
  const keys = sendKeys(store.space, address, parseMessageId(messageId)!.tag);
  const device = deviceKeys(store.space, address);
  const opened = await store.run(
    'open-send',
    [keys.record, device.acceptingSends, device.openSends, device.backlog],
    [],
  );
  return opened !== -1;
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
      await openSend(store, address, messageId);
      continue;
    }
    const keys = sendKeys(store.space, address, parseMessageId(messageId)!.tag);
    const idempotency = await store.redis.hget(keys.record, 'idempotency');
    await store.run(
      'drop-accepting-send',
      [
        keys.record,
        keys.recipients,
        keys.results,
        acceptingSends,
        releasedBlobs,
        keptSends,
        ...(idempotency ? [idempotency] : []),
      ],
      [messageId],
    );
  }
}

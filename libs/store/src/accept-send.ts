import { type DeviceAddress, type MessageId, makeMessageId, parseMessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import type { MessageContent, Reply, SendKind } from '@gateway/contracts/message-content';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { emptyResults, packRecipients, RECORD_VERSION } from '@gateway/contracts/send-layout';
import { RECIPIENT_STATUSES } from '@gateway/contracts/statuses';
import { holdOf } from './blobs.js';
import { type NewRepeat, repeatFields } from './idempotency.js';
import type { Store } from './store.js';

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
}

const MAX_TAG_TRIES = 5;

/**
 * Writes a send down, in one atomic step whatever the number of recipients. It counts as promised only once its job
 * is in the queue and `openSend` was called; until then it can be dropped without a trace.
 */
export async function acceptSend(
  store: Store,
  address: DeviceAddress,
  send: NewSend,
): Promise<{ messageId: MessageId }> {
  const messageId = await writeSend(store, address, send);
  if (!messageId) throw new Error('a send without an idempotency key cannot be a repeat');
  return { messageId };
}

/** The same under an idempotency key: `undefined`, having written nothing, when the key stands for a send already. */
export async function acceptSendOnce(
  store: Store,
  address: DeviceAddress,
  send: NewSend,
  repeat: NewRepeat,
): Promise<{ messageId: MessageId } | undefined> {
  const messageId = await writeSend(store, address, send, repeat);
  return messageId ? { messageId } : undefined;
}

async function writeSend(
  store: Store,
  address: DeviceAddress,
  send: NewSend,
  repeat?: NewRepeat,
): Promise<MessageId | undefined> {
  const { acceptingSends } = deviceKeys(store.space, address);
  for (let attempt = 0; attempt < MAX_TAG_TRIES; attempt++) {
    const messageId = makeMessageId(address);
    const { tag } = parseMessageId(messageId)!;
    const keys = sendKeys(store.space, address, tag);
    const taken = await store.run(
      'accept-send',
      [keys.record, keys.recipients, keys.results, acceptingSends, ...(repeat ? [repeat.key] : [])],
      [
        messageId,
        send.nowMs,
        packRecipients(send.recipients),
        emptyResults(send.recipients.length, send.nowMs),
        ...(repeat ? repeatFields(store, repeat) : ['', '', '']),
        ...recordFields(store, keys.record, send),
      ],
    );
    if (taken === 1) return messageId;
    if (taken === -1) return undefined;
  }
  throw new Error('no free tag for a send: the random source repeats itself');
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
  const { acceptingSends, releasedBlobs } = deviceKeys(store.space, address);
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
        ...(idempotency ? [idempotency] : []),
      ],
      [messageId],
    );
  }
}

import { type Pace, paceDurationMs } from '@gateway/contracts/devices/pace';
import { type DeviceAddress, type MessageId, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { packRecipients } from '@gateway/contracts/sends/send-layout';
import { RECIPIENT_STATUSES, type RecipientStatus } from '@gateway/contracts/sends/statuses';
import { FencedError } from '@gateway/runtime/errors';
import type { Store } from '../core/store.js';
import type { Lease } from '../fleet/leases.js';

const RETENTION_MS = LIMITS.sendRetentionSeconds * 1000;
const ERASURE_MS = LIMITS.otpErasureSeconds * 1000;

export type ClaimOutcome = 'claimed' | 'settled' | 'cancelled' | 'expired';

export interface RecipientEvent {
  recipient: number;
  part: number;
  event: 'acked' | 'delivered' | 'read' | 'failed' | 'revoked' | 'returned' | 'held';
  /** Only with `failed`, `revoked` and `held`: see libs/contracts/src/sends/recipient-errors.ts. */
  errorCode?: number;
}

/** The mark before a relay that the message may go out now. Throws `FencedError` for a stale owner. */
export async function claimRecipient(
  store: Store,
  lease: Lease,
  message: { tag: SendTag; recipient: number; part: number; nowMs: number },
): Promise<ClaimOutcome> {
  const keys = sendKeys(store.space, lease.address, message.tag);
  const reply = await store.run(
    'claim-recipient',
    [deviceKeys(store.space, lease.address).lease, keys.record, keys.results],
    [lease.token, message.nowMs, message.recipient, message.part],
  );
  if (reply === 'fenced') throw new FencedError({ step: 'claim recipient' });
  return reply as ClaimOutcome;
}

/**
 * Writes what the network said. News may come late, twice or in any order: statuses only move forward.
 * Returns the status after each event, `undefined` where there is no such recipient. Throws `FencedError` for a stale owner.
 */
export async function recordResults(
  store: Store,
  lease: Lease,
  news: { tag: SendTag; nowMs: number; events: readonly RecipientEvent[] },
): Promise<(RecipientStatus | undefined)[]> {
  const reply = await store.run('record-results', fencedKeys(store, lease, news.tag), [
    ...[lease.token, news.nowMs, RETENTION_MS, ERASURE_MS],
    ...news.events.flatMap(({ recipient, part, event, errorCode = 0 }) => [recipient, part, event, errorCode]),
  ]);
  const [outcome, ...codes] = reply as [string, ...number[]];
  if (outcome === 'fenced') throw new FencedError({ step: 'record results' });
  return codes.map((code) => RECIPIENT_STATUSES[code]);
}

/**
 * Cancels what was not tried yet; `undefined` when there is no such send. Needs no lease. Ring `sends` afterwards.
 * @param options.leaseOfOther of an owner that found another account on the device: cancels what was tried, too, as another
 * attempt would come from someone else. Then it throws `FencedError` for a stale owner.
 */
export async function cancelSend(
  store: Store,
  address: DeviceAddress,
  messageId: MessageId,
  { leaseOfOther, nowMs = Date.now() }: { leaseOfOther?: Lease; nowMs?: number } = {},
): Promise<{ cancelled: number } | undefined> {
  const parsed = parseMessageId(messageId);
  if (!parsed) return undefined;
  const keys = sendScriptKeys(store, address, parsed.tag);
  const args = [nowMs, RETENTION_MS, ERASURE_MS];
  const cancelled = leaseOfOther
    ? await store.run('cancel-send', [...keys, deviceKeys(store.space, address).lease], [...args, leaseOfOther.token])
    : await store.run('cancel-send', keys, args);
  if (cancelled === 'fenced') throw new FencedError({ step: 'cancel sends' });
  return cancelled === -1 ? undefined : { cancelled: Number(cancelled) };
}

/**
 * Takes a person's number out of one send; answers how many entries had it. Whom it was queued for does not get it. Needs
 * no lease; safe to repeat. Ring `sends` afterwards. `undefined` for a send that is being accepted this very moment.
 */
export async function forgetRecipient(
  store: Store,
  address: DeviceAddress,
  tag: SendTag,
  phone: string,
  nowMs = Date.now(),
): Promise<number | undefined> {
  const found = await store.run('forget-recipient', sendScriptKeys(store, address, tag), [
    ...[nowMs, RETENTION_MS, ERASURE_MS, ownErrorCode('person_forgotten')],
    ...spellingsOf(phone).map((number) => packRecipients([number])),
  ]);
  return found === -1 ? undefined : Number(found);
}

/** Ends the sends whose time is over. Throws `FencedError` for a stale owner. Returns the ids that ended now. */
export async function expireSends(store: Store, lease: Lease, nowMs: number): Promise<MessageId[]> {
  const { openSends } = deviceKeys(store.space, lease.address);
  const due = await store.redis.zrangebyscore(openSends, '-inf', nowMs);
  for (const messageId of due) {
    const { tag } = parseMessageId(messageId)!;
    const args = [lease.token, nowMs, RETENTION_MS, ERASURE_MS, messageId];
    const reply = await store.run('expire-send', fencedKeys(store, lease, tag), args);
    if (reply === -1) throw new FencedError({ step: 'expire sends' });
  }
  return due;
}

/** Forgets the contents of OTPs that were sent a while ago. Needs no lease: what is spent is spent. */
export async function eraseSpentOtps(store: Store, address: DeviceAddress, nowMs: number): Promise<void> {
  const { erasures } = deviceKeys(store.space, address);
  for (const messageId of await store.redis.zrangebyscore(erasures, '-inf', nowMs)) {
    const { record } = sendKeys(store.space, address, parseMessageId(messageId)!.tag);
    await store.run('erase-content', [record, erasures], [messageId]);
  }
}

/** Asks the pace for one message: 0 to go ahead, else the ms to wait before asking again. */
export async function takePace(store: Store, lease: Lease, request: { pace: Pace; nowMs: number }): Promise<number> {
  const { pace, nowMs } = request;
  if (pace.messagesPerMinute === 0) return 0;
  const evenGapMs = 60_000 / pace.messagesPerMinute;
  // Jitter varies each gap both ways, so that the rate stays what was asked for.
  const gapMs = evenGapMs * (1 + pace.jitter * (Math.random() * 2 - 1));
  const keys = deviceKeys(store.space, lease.address);
  const furthestMs = 2 * evenGapMs * pace.burst;
  const args = [lease.token, nowMs, gapMs, pace.burst, furthestMs];
  const waitMs = await store.run('take-pace', [keys.lease, keys.pace], args);
  if (waitMs === -1) throw new FencedError({ step: 'take pace' });
  return Number(waitMs);
}

/** How long the next message waits for the pace, 0 when it does not. Asks for nothing. */
export async function readPaceWaitMs(
  store: Store,
  address: DeviceAddress,
  { pace, nowMs }: { pace: Pace; nowMs: number },
): Promise<number> {
  if (pace.messagesPerMinute === 0) return 0;
  const dueMs = Number((await store.redis.hget(deviceKeys(store.space, address).pace, 'dueMs')) ?? 0);
  return Math.max(0, dueMs - paceDurationMs(pace, pace.burst - 1) - nowMs);
}

function sendScriptKeys(store: Store, address: DeviceAddress, tag: SendTag): string[] {
  const keys = sendKeys(store.space, address, tag);
  const device = deviceKeys(store.space, address);
  return [
    keys.record,
    keys.recipients,
    keys.results,
    device.openSends,
    device.backlog,
    device.erasures,
    device.releasedBlobs,
    device.keptSends,
  ];
}

function fencedKeys(store: Store, lease: Lease, tag: SendTag): string[] {
  return [deviceKeys(store.space, lease.address).lease, ...sendScriptKeys(store, lease.address, tag)];
}

/** Whether time has done something to the device's sends: some expired, were never opened, hold a spent OTP, or left a blob to release. */
export async function hasDueSends(store: Store, address: DeviceAddress, nowMs: number): Promise<boolean> {
  const keys = deviceKeys(store.space, address);
  const abandonedBeforeMs = nowMs - LIMITS.acceptingGraceSeconds * 1000;
  const [expired, abandoned, spent, released] = await Promise.all([
    store.redis.zcount(keys.openSends, '-inf', nowMs),
    store.redis.zcount(keys.acceptingSends, '-inf', abandonedBeforeMs),
    store.redis.zcount(keys.erasures, '-inf', nowMs),
    store.redis.exists(keys.releasedBlobs),
  ]);
  return expired + abandoned + spent + released > 0;
}

import { SEND_KINDS, type SendKind } from '@gateway/contracts/content/message-content';
import { type DeviceAddress, type MessageId, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { packNumber } from '@gateway/contracts/sends/packed-send';
import { RECIPIENT_STATUSES, type RecipientEventName, type RecipientStatus } from '@gateway/contracts/sends/statuses';
import { systemClock } from '@gateway/runtime/clock';
import { bytes, defineScript, mixed, number, text } from '../core/scripts/define-script.js';
import { nothing, numeric, oneOf } from '../core/scripts/replies.js';
import { isMade, UnknownVersionError } from '../core/scripts/unknown-version-error.js';
import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';
import { keysOfSend, keysOfSends, SEND_AND_DEVICE, SEND_KEYS, SENDS_KEYS } from './keys-of-send.js';

const claimStep = defineScript({
  name: 'claim-recipient',
  whenFull: 'runs',
  isFenced: true,
  readsSend: true,
  keys: ['record', 'device'],
  args: { nowMs: number, recipient: number, part: number },
  reply: oneOf('claimed', 'settled', 'cancelled', 'expired'),
});
const recordResultsStep = defineScript({
  name: 'record-results',
  whenFull: 'runs',
  isFenced: true,
  keys: SENDS_KEYS,
  args: { nowMs: number, '...events': mixed },
  reply: (reply) => reply as (number[] | Error)[],
});
const cancelStep = defineScript({
  name: 'cancel-send',
  whenFull: 'runs',
  readsSend: true,
  keys: SEND_AND_DEVICE,
  args: { nowMs: number },
  reply: numeric,
});
const forgetRecipientStep = defineScript({
  name: 'forget-recipient',
  whenFull: 'runs',
  readsSend: true,
  keys: SEND_KEYS,
  args: { nowMs: number, '...numbers': bytes },
  reply: numeric,
});
const expireStep = defineScript({
  name: 'expire-send',
  whenFull: 'runs',
  readsSend: true,
  keys: SEND_AND_DEVICE,
  args: { nowMs: number, messageId: text },
  reply: nothing,
});
export type ClaimOutcome = 'claimed' | 'settled' | 'cancelled' | 'expired';

export interface RecipientEvent {
  recipient: number;
  part: number;
  event: RecipientEventName;
  /** Only with `failed`, `revoked` and `held`: see libs/contracts/src/sends/recipient-errors.ts. */
  errorCode?: number;
}

/** The mark before a relay that the message may go out now. Throws `FencedError` for a stale owner. */
export async function claimRecipient(
  store: Store,
  ownership: Ownership,
  message: { tag: SendTag; recipient: number; part: number; nowMs: number },
): Promise<ClaimOutcome> {
  const { device } = deviceKeys(store.space, ownership.address);
  const { record } = sendKeys(store.space, ownership.address, message.tag);
  return claimStep(store, ownership, { record, device, ...message });
}

/** What the network said of recipients of a send. */
export interface SendNews {
  tag: SendTag;
  events: readonly RecipientEvent[];
}

/** The status after each event, `undefined` where there is no such recipient. */
export type StatusesAfter = (RecipientStatus | undefined)[];

/** Tells of a delivery how long after the ack it came. */
type OnDelivery = (kind: SendKind, ackToDeliveryMs: number) => void;

/** `recordResultsOfSends` for one send. Throws `UnknownVersionError` for one of another version. */
export async function recordResults(
  store: Store,
  ownership: Ownership,
  { nowMs, ...news }: SendNews & { nowMs: number },
): Promise<StatusesAfter> {
  const [statuses] = await recordResultsOfSends(store, ownership, { nowMs, sends: [news] });
  if (statuses instanceof Error) throw statuses;
  return statuses ?? [];
}

/**
 * Writes what the network said of any number of sends of a device, in one step. News may come late, twice or in any order:
 * statuses only move forward. Returns for each send its statuses, or the error of one that cannot be read:
 * `UnknownVersionError` where another version of the gateway has written it, which is left as it is. Throws `FencedError`, having
 * changed nothing, for a stale owner.
 */
export async function recordResultsOfSends(
  store: Store,
  ownership: Ownership,
  { nowMs, sends }: { nowMs: number; sends: readonly SendNews[] },
  onDelivery: OnDelivery = () => {},
): Promise<(StatusesAfter | Error)[]> {
  const events = sends.flatMap((send, i) =>
    send.events.flatMap(({ recipient, part, event, errorCode = 0 }) => [i + 1, recipient, part, event, errorCode]),
  );
  const tags = sends.map(({ tag }) => tag);
  const keys = keysOfSends(store, ownership.address, tags);
  const told = await recordResultsStep(store, ownership, { nowMs, events, ...keys });
  return told.map((reply, i) => (reply instanceof Error ? reply : readStatuses(reply, sends[i]!, onDelivery)));
}

function readStatuses(
  [kind, ...told]: number[],
  { events }: SendNews,
  onDelivery: OnDelivery,
): StatusesAfter | UnknownVersionError {
  if (kind === -1) return new UnknownVersionError({ step: 'record-results', version: String(told[0]) });
  return events.slice(0, told.length / 2).map((_, i) => {
    const [code, ackToDeliveryMs] = told.slice(2 * i) as [number, number];
    if (ackToDeliveryMs >= 0) onDelivery(SEND_KINDS[kind!]!, ackToDeliveryMs);
    return RECIPIENT_STATUSES[code];
  });
}

/**
 * Cancels what was not attempted yet, and what was, too, when another account is linked by now: another attempt would come from
 * someone else. `undefined` when there is no such send. Needs no owner. Ring `sends` afterwards.
 */
export async function cancelSend(
  store: Store,
  address: DeviceAddress,
  messageId: MessageId,
  { nowMs = systemClock.nowMs() }: { nowMs?: number } = {},
): Promise<{ cancelled: number } | undefined> {
  const parsed = parseMessageId(messageId);
  if (!parsed) return undefined;
  const keys = keysOfSend(store, address, parsed.tag);
  const cancelled = await cancelStep(store, { ...keys, nowMs });
  await store.confirmWrites(keys.record);
  return cancelled === -1 ? undefined : { cancelled };
}

/**
 * Takes a person's number out of one send; answers how many entries had it. Whom it was queued for does not get it. Needs
 * no ownership; safe to repeat. Ring `sends` afterwards.
 */
export async function forgetRecipient(
  store: Store,
  address: DeviceAddress,
  tag: SendTag,
  phone: string,
  nowMs = systemClock.nowMs(),
): Promise<number> {
  const numbers = spellingsOf(phone).map(packNumber);
  return forgetRecipientStep(store, { ...keysOfSend(store, address, tag), nowMs, numbers });
}

/** Ends a send if its time is over, but not one of a version that only others know. Needs no ownership; safe to repeat. */
export async function expireSend(
  store: Store,
  address: DeviceAddress,
  messageId: MessageId,
  nowMs: number,
): Promise<void> {
  const { tag } = parseMessageId(messageId)!;
  await isMade(expireStep(store, { ...keysOfSend(store, address, tag), nowMs, messageId }));
}

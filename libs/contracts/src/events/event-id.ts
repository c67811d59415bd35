import { type MessageId, parseMessageId, type SendTag } from '../ids.js';
import { RECIPIENT_STATUSES, type RecipientStatus } from '../sends/statuses.js';

/** What the id of an event says of it: where it happened, and what is needed to look for it. */
export type EventIdParts =
  /** Of a recipient. */
  | { kind: 'change'; shortDeviceId: string; platformId: string; status: RecipientStatus }
  /** The same, told without the key that makes ids of the network. */
  | { kind: 'keyless'; shortDeviceId: string; tag: SendTag; index: number; status: RecipientStatus }
  | { kind: 'finished'; messageId: MessageId; shortDeviceId: string }
  | { kind: 'received'; shortDeviceId: string; receivedId: string }
  /** Of a device or its restriction, at this time. `place`: the short id of the device, or the workspace. */
  | { kind: 'timed'; place: string; atMs: number }
  /** What is in an entry of the log alone: opt-outs, an endpoint, a gap. */
  | { kind: 'logged'; place: string; entry: string };

/** That of what a person wrote, whose id of a hundred bytes at the network may be escaped fourfold, with a digit behind it (received-id.ts). */
export const MAX_EVENT_ID_CHARACTERS = 450;

const SHORT = '[0-9a-hjkmnp-tv-z]{8}';
const PLACE = '([a-z0-9-]{1,40})';
const WHAT_HAPPENED = RECIPIENT_STATUSES.filter((status) => status !== 'queued').join('|');
const CHANGE = new RegExp(`^evt_(${SHORT})_([0-9A-F]{18})_(${WHAT_HAPPENED})$`);
/** Shorter than the one above: a send has no more than 10,000 recipients. */
const KEYLESS = new RegExp(`^evt_(${SHORT})_([0-9a-f]{13})(\\d{1,4})_(${WHAT_HAPPENED})$`);
const FINISHED = /^evt_(msg_[0-9a-z]+)_finished$/;
const RECEIVED = new RegExp(`^evt_(${SHORT})_([A-Za-z0-9-]+)_received$`);
const TIMED = new RegExp(`^evt_${PLACE}_(\\d{1,15})_(?:(?:dis)?connected|connecting|(?:un)?restricted)$`);
const LOGGED = new RegExp(`^evt_${PLACE}_(\\d{1,15}-\\d{1,10})_(?:added|removed|gap|failing|recovered|disabled)$`);

/**
 * The other way round of what libs/store/src/events/render-events.ts makes; `undefined` for an id that says nothing of its event, as
 * that of several changes together does.
 */
export function parseEventId(id: string): EventIdParts | undefined {
  const change = CHANGE.exec(id);
  if (change) {
    const [, shortDeviceId, digits, status] = change as unknown as string[];
    return {
      kind: 'change',
      ...{ shortDeviceId: shortDeviceId!, platformId: `3EB0${digits}`, status: status as RecipientStatus },
    };
  }
  const keyless = KEYLESS.exec(id);
  if (keyless) {
    const [, shortDeviceId, tag, index, status] = keyless as unknown as string[];
    return {
      kind: 'keyless',
      ...{ shortDeviceId: shortDeviceId!, tag: tag!, index: Number(index), status: status as RecipientStatus },
    };
  }
  const [, messageId] = FINISHED.exec(id) ?? [];
  const message = messageId === undefined ? undefined : parseMessageId(messageId);
  if (message) return { kind: 'finished', messageId: messageId!, shortDeviceId: message.shortDeviceId };
  const [, short, escaped] = RECEIVED.exec(id) ?? [];
  if (short && escaped) return { kind: 'received', shortDeviceId: short, receivedId: unescapeId(escaped) };
  const [, where, atMs] = TIMED.exec(id) ?? [];
  if (where && atMs) return { kind: 'timed', place: where, atMs: Number(atMs) };
  const [, place, entry] = LOGGED.exec(id) ?? [];
  return place && entry ? { kind: 'logged', place, entry } : undefined;
}

/** The id of a change that is told without the key that makes ids of the network. */
export const keylessId = (shortDeviceId: string, tag: SendTag, { index, status }: { index: number; status: string }) =>
  `evt_${shortDeviceId}_${tag}${index}_${status}`;

/** An id of the network as it may stand in ours; no two have the same. */
export const escapeId = (platformId: string): string =>
  platformId.replace(/[^A-Za-z0-9]/gu, (sign) => `-${sign.codePointAt(0)!.toString(16)}-`);

const unescapeId = (escaped: string): string =>
  escaped.replace(/-(10[0-9a-f]{4}|[0-9a-f]{1,5})-/g, (_, code: string) =>
    String.fromCodePoint(Number.parseInt(code, 16)),
  );

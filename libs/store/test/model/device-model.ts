import type { ModelEvent, Reply } from './events.js';
import {
  cancel,
  claim,
  endOfFormerAccount,
  expire,
  forgetPerson,
  mayBeHeard,
  newSend,
  RETENTION_MS,
  report,
  type Send,
} from './send-model.js';

const KEY_MS = 24 * 3_600_000;
const OPTED_OUT = 8;

/** An idempotency key of a caller. */
export interface CallersKey {
  /** Claims given out so far; the last of them holds the key while `isClaimed`. */
  claims: number;
  isClaimed: boolean;
  /** The send that it stands for. */
  use?: { send: number; sinceMs: number; answer: number };
}

/** What is to be seen of a device and its sends. Times count from the beginning of the sequence. */
export interface Device {
  nowMs: number;
  /** Ownerships given out so far; the last of them holds the device while `sessionTtlMs` is there. */
  ownerships: number;
  sessionTtlMs?: number;
  account?: number;
  /** How often another account was taken. */
  accountEpoch: number;
  sends: readonly Send[];
  keys: Readonly<Record<number, CallersKey>>;
  optedOut: ReadonlySet<number>;
}

export const NEW_DEVICE: Device = {
  nowMs: 0,
  ownerships: 0,
  accountEpoch: 0,
  sends: [],
  keys: {},
  optedOut: new Set(),
};
const NEW_KEY: CallersKey = { claims: 0, isClaimed: false };

interface Step {
  device: Device;
  reply: Reply;
}

/**
 * What the contract says of an event: the device afterwards, and what the caller is told. An owner whose ownership has passed
 * on is told `fenced`, and changes nothing. `undefined` where the event cannot happen.
 */
export function step(device: Device, event: ModelEvent): Step | undefined {
  if ('ownership' in event && event.ownership >= device.ownerships) return undefined;
  if ('send' in event && event.send >= device.sends.length) return undefined;
  const isOwner = !('ownership' in event) || (event.ownership === 0 && device.sessionTtlMs !== undefined);
  const change = (send: number, now: Send, reply: Reply): Step => ({
    device: { ...device, sends: device.sends.with(send, now) },
    reply,
  });

  switch (event.do) {
    case 'pass':
      return { device: pass(device, event.ms), reply: undefined };
    case 'acquire':
      if (device.sessionTtlMs !== undefined) return { device, reply: undefined };
      return {
        device: { ...device, ownerships: device.ownerships + 1, sessionTtlMs: event.ttlMs },
        reply: device.ownerships + 1,
      };
    case 'renew':
      return { device: isOwner ? { ...device, sessionTtlMs: event.ttlMs } : device, reply: isOwner };
    case 'release':
      return { device: isOwner ? withoutOwner(device) : device, reply: undefined };
    case 'lapse':
      return { device: withoutOwner(device), reply: undefined };
    case 'accept':
      return accept(device, event);
    case 'claim': {
      const send = device.sends[event.send]!;
      if (event.part >= partsOf(send)) return undefined;
      if (!isOwner) return { device, reply: 'fenced' };
      const claimed = claim(send, { ...event, nowMs: device.nowMs });
      return change(event.send, claimed.send, claimed.reply);
    }
    case 'takeIn': {
      const send = device.sends[event.send]!;
      if (!isOwner) return { device, reply: 'fenced' };
      if (send.stage !== 'open') return { device, reply: undefined };
      if (send.expiresAtMs <= device.nowMs) return change(event.send, expire(send, device.nowMs), undefined);
      return change(event.send, send, { statuses: send.recipients.map(({ status }) => status), hasContent: true });
    }
    case 'report': {
      const send = device.sends[event.send]!;
      const isNews = event.news.every((news) => news.part < partsOf(send) && mayBeHeard(send, news));
      if (!isNews) return undefined;
      if (!isOwner) return { device, reply: 'fenced' };
      const reported = report(send, event.news, device.nowMs);
      return change(event.send, reported.send, reported.reply);
    }
    case 'cancel': {
      const cancelled = cancel(device.sends[event.send]!, device.nowMs);
      return change(event.send, cancelled.send, cancelled.reply);
    }
    case 'expire':
      return expireDue(device);
    case 'forgetPerson': {
      const forgotten = forgetPerson(device.sends[event.send]!, event.person, device.nowMs);
      return change(event.send, forgotten.send, forgotten.reply);
    }
    case 'takeAccount':
      return takeAccount(device, event.account, isOwner);
    case 'logOut':
      // What is queued waits: the same account may come back.
      return { device, reply: isOwner ? undefined : 'fenced' };
    case 'optOut':
      return { device: { ...device, optedOut: new Set([...device.optedOut, event.person]) }, reply: undefined };
    case 'optIn': {
      const others = [...device.optedOut].filter((person) => person !== event.person);
      return { device: { ...device, optedOut: new Set(others) }, reply: others.length < device.optedOut.size };
    }
    case 'dropOptedOut':
      return dropOptedOut(device, event.send, isOwner);
    default:
      return stepKey(device, event);
  }
}

function partsOf(send: Send): number {
  return send.recipients[0]!.parts.length;
}

function withoutOwner({ sessionTtlMs: _, ...device }: Device): Device {
  return device;
}

function mapSends(device: Device, change: (send: Send, index: number) => Send): Device {
  return { ...device, sends: device.sends.map(change) };
}

/** Sends that have ended are kept for seven days, contents as long as they are needed, what a key stands for a day. */
function pass(device: Device, ms: number): Device {
  const nowMs = device.nowMs + ms;
  const keys = Object.entries(device.keys).map(([name, { use, ...key }]) => {
    const isKept = use && nowMs - use.sinceMs < KEY_MS;
    return [name, isKept ? { ...key, use } : key] as const;
  });
  return mapSends({ ...device, nowMs, keys: Object.fromEntries(keys) }, (send) =>
    send.stage === 'closed' && send.closedAtMs! + RETENTION_MS <= nowMs
      ? gone(send)
      : { ...send, hasContent: send.hasContent && nowMs < send.contentDiesAtMs },
  );
}

function gone(send: Send): Send {
  return { ...send, stage: 'gone', hasContent: false };
}

function accept(device: Device, event: Extract<ModelEvent, { do: 'accept' }>): Step {
  const key = event.key === undefined ? undefined : keyOf(device, event.key);
  if (key?.use) return { device, reply: 'repeat' };
  if (event.isLate) return { device, reply: 'otherAccount' };
  const isFull = event.room === 'none';
  const hasOthers = device.sends.some(({ stage }) => stage === 'open');
  if (isFull && hasOthers && event.kind !== 'otp') return { device, reply: 'full' };
  const room = isFull ? forgetEnded(device) : { device, forgotten: 0 };
  const send = newSend(event, device);
  const accepted = { ...room.device, sends: [...room.device.sends, send] };
  const reply = { send: device.sends.length, forgotten: room.forgotten };
  if (event.key === undefined) return { device: accepted, reply };
  const use = { send: reply.send, sinceMs: device.nowMs, answer: 0 };
  return { device: withKey(accepted, event.key, { ...keyOf(device, event.key), use }), reply };
}

/** A key goes on standing for a send that was forgotten for room. */
function forgetEnded(device: Device): { device: Device; forgotten: number } {
  const isEnded = ({ stage }: Send) => stage === 'closed';
  return {
    device: mapSends(device, (send) => (isEnded(send) ? gone(send) : send)),
    forgotten: device.sends.filter(isEnded).length,
  };
}

/** Answers with those that ended. Needs no owner: none claims what is over. */
function expireDue(device: Device): Step {
  const isDue = ({ stage, expiresAtMs }: Send) => stage === 'open' && expiresAtMs <= device.nowMs;
  const due = device.sends.flatMap((send, index) => (isDue(send) ? [index] : []));
  return { device: mapSends(device, (send) => (isDue(send) ? expire(send, device.nowMs) : send)), reply: due };
}

/** What was accepted for one account never goes out from another, whatever became of it. */
function takeAccount(device: Device, account: number, isOwner: boolean): Step {
  if (device.account === account) return { device, reply: false };
  if (!isOwner) return { device, reply: 'fenced' };
  const isOther = device.account !== undefined;
  const ended = mapSends(device, (send) =>
    isOther && send.stage === 'open' ? endOfFormerAccount(send, device.nowMs) : send,
  );
  const accountEpoch = device.accountEpoch + (isOther ? 1 : 0);
  return { device: { ...ended, account, accountEpoch }, reply: isOther };
}

function dropOptedOut(device: Device, index: number, isOwner: boolean): Step | undefined {
  const send = device.sends[index]!;
  if (send.stage !== 'open') return undefined;
  const news = send.recipients.flatMap(({ status, person }, recipient) =>
    status === 'queued' && person !== 'forgotten' && device.optedOut.has(person)
      ? [{ recipient, part: 0, event: 'failed' as const, errorCode: OPTED_OUT }]
      : [],
  );
  if (!isOwner) return { device, reply: 'fenced' };
  const reported = report(send, news, device.nowMs);
  return { device: { ...device, sends: device.sends.with(index, reported.send) }, reply: reported.reply };
}

function keyOf(device: Device, key: number): CallersKey {
  return device.keys[key] ?? NEW_KEY;
}

function withKey(device: Device, name: number, key: CallersKey): Device {
  return { ...device, keys: { ...device.keys, [name]: key } };
}

function stepKey(device: Device, event: Extract<ModelEvent, { do: `${string}Key` }>): Step | undefined {
  const key = keyOf(device, event.key);
  const unused = ({ use: _, ...rest }: CallersKey): CallersKey => rest;
  const change = (now: CallersKey, reply: Reply): Step => ({ device: withKey(device, event.key, now), reply });
  switch (event.do) {
    case 'claimKey':
      if (key.use) return { device, reply: { send: key.use.send, answer: key.use.answer } };
      if (key.isClaimed) return { device, reply: 'claimed' };
      return change({ ...key, claims: key.claims + 1, isClaimed: true }, 'free');
    case 'releaseKey':
      if (event.claim >= key.claims) return undefined;
      return change({ ...key, isClaimed: key.isClaimed && event.claim > 0 }, undefined);
    case 'lapseKey':
      return change({ ...key, isClaimed: false }, undefined);
    case 'answerKey':
      if (key.use?.send !== event.send) return { device, reply: undefined };
      return change({ ...key, use: { ...key.use, answer: event.answer } }, undefined);
    case 'freeKey':
      return {
        device: key.use?.send === event.send ? withKey(device, event.key, unused(key)) : device,
        reply: undefined,
      };
  }
}

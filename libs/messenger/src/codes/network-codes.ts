import type { DisconnectReason } from '../socket/baileys.js';

/** Meaning of the network's codes, by what we do next. */
type AckMeaning = 'refused' | 'retryLater' | 'restricted' | 'staleDevices';
type EndMeaning =
  | { kind: 'loggedOut' | 'banned' | 'clientOutdated' | 'notMultiDevice' | 'replaced' | 'restart' | 'unknown' }
  | { kind: 'temporarilyBanned' }
  | { kind: 'reconnect'; backoff: 'network' | 'server' }
  | { kind: 'rateLimited'; minMs: number };

/** The codes that an ack of a message can carry as its error. */
const ACKS: Record<number, AckMeaning> = {
  429: 'retryLater', // too much at a time
  463: 'restricted', // the account may start no new chats, or lacks a token for this one: never repeated blindly
  475: 'restricted', // it has started as many as its quota allows: never repeated blindly
  479: 'staleDevices', // our list of the recipient's devices is outdated: looked up again, once
};

/** Problems of the network pass; everything else it refuses, it would refuse again. */
export function meaningOfAck(code: number): AckMeaning {
  return ACKS[code] ?? (code >= 500 && code <= 599 ? 'retryLater' : 'refused');
}

/** The codes that a connection ends with, the network's and the library's. One that the library adds does not compile. */
const ENDS = {
  401: { kind: 'loggedOut' }, // removed on the phone: keys are set aside
  402: { kind: 'temporarilyBanned' }, // until `expire`
  403: { kind: 'banned' }, // stop, and tell people
  405: { kind: 'clientOutdated' }, // all devices wait, and an alert
  406: { kind: 'loggedOut' },
  408: { kind: 'reconnect', backoff: 'network' }, // no answer
  409: { kind: 'clientOutdated' }, // a long backoff of this device
  411: { kind: 'notMultiDevice' }, // the account takes no linked devices
  428: { kind: 'reconnect', backoff: 'network' }, // the connection broke
  429: { kind: 'rateLimited', minMs: 5 * 60_000 },
  440: { kind: 'replaced' }, // another client logged in with these keys
  500: { kind: 'unknown' }, // backoff; the keys stay
  503: { kind: 'reconnect', backoff: 'server' }, // busy
  515: { kind: 'restart' }, // reconnect at once: after linking, and now and then
  516: { kind: 'loggedOut' },
} satisfies Record<number, EndMeaning> & Record<DisconnectReason, EndMeaning>;

export function meaningOfEnd(code: number): EndMeaning {
  return ENDS[code as keyof typeof ENDS] ?? { kind: 'unknown' };
}

import { createHash } from 'node:crypto';
import { currentCap } from '../accounts/restrictions-view.js';
import type { FaultAction } from '../faults/fault-book.js';
import type { DevicePlace, Envelope } from '../messaging/envelope.js';
import { type Addressed, devicesOf, type Outgoing, readOutgoing } from '../messaging/read-outgoing.js';
import { type BinaryNode, childBytes, node, stamp, without } from '../wire/nodes.js';
import { lacksRecipientNumber, namespaceRefusal } from './check-addressing.js';
import { trustIn } from './check-trust.js';
import type { Client, Server } from './stanza-context.js';

/** Refusals, by the codes that clients know. */
const MALFORMED = 400;
const NOT_A_MEMBER = 403;
const NOT_FOUND = 404;
const RESTRICTED = 463;
/** The account has opened as many conversations as it may; before 2026 that was a 463, too. */
const CAPPED = 475;
const STALE_DEVICES = 479;

/** Attributes of a message that do not travel on. */
const FOR_THE_SERVER = new Set(['id', 'to', 'recipient', 'participant', 'device_fanout', 'phash', 'peer_recipient_pn']);

/** A client sends a message: check it, deliver it, acknowledge it - or what a fault says instead. */
export function handleMessage(server: Server, client: Client, stanza: BinaryNode): void {
  const message = readOutgoing(server.network, stanza);
  if (!message) return refuse(server, client, stanza, MALFORMED);
  const { faults, counters } = server.network;
  const { number, id: device } = client.device;
  const addressing = server.network.directory.resolve(message.to)?.addressing;
  const about = { recipient: message.recipient, messageId: message.id, ...(addressing && { addressing }) };
  const event = { account: number, device, ...about };
  const fault = faults.strike('message', event) ?? {};
  if (fault.silent) return;
  const error = fault.ackError ?? refusalOf(server, client, message);
  if (error) return later(server, fault, () => refuse(server, client, stanza, error));
  if (fault.accept !== false) accept(server, client, message);
  if (fault.streamError) return client.session.endStream(fault.streamError);
  if (fault.closeBeforeAck) return client.session.cut();
  if (fault.dropAck || fault.accept === false) {
    counters.droppedAcks += 1;
    return;
  }
  later(server, fault, () => {
    acknowledge(server, client, message);
    if (fault.closeAfterAck) client.session.close();
  });
}

function later(server: Server, fault: FaultAction, step: () => void): void {
  const delayMs = server.network.faults.delayOf(fault);
  if (delayMs === 0) step();
  else setTimeout(step, delayMs).unref();
}

function refusalOf(server: Server, { device }: Client, message: Outgoing): number | undefined {
  const { directory, accounts } = server.network;
  const wrongNamespace = namespaceRefusal(server.network, device.number, message);
  if (wrongNamespace) return wrongNamespace;
  const gone = ({ place }: Addressed) => place.device > 0 && !accounts.findDevice(place.number, place.device);
  if (message.targets.some(gone)) return STALE_DEVICES;
  if (message.broadcast) return undefined;
  if (message.group) return message.group.members.has(device.number) ? undefined : NOT_A_MEMBER;
  if (!directory.exists(message.recipient)) return NOT_FOUND;
  const trust = trustIn(server.network, device.number, message);
  if (trust === 'none') {
    server.network.counters.missingTokens += 1;
    return RESTRICTED;
  }
  // A person who gave a token is not a stranger.
  if (trust === 'given') return undefined;
  return restrictionOn(server, device.number, message.recipient);
}

/** A restricted account goes on with the conversations it has and opens no new ones. */
function restrictionOn(server: Server, number: string, recipient: string): number | undefined {
  const account = server.network.accounts.ensure(number);
  if (number === recipient || account.contacts.has(recipient)) return undefined;
  const nowMs = server.network.now();
  const { reachoutLockedUntilMs = 0 } = account.restrictions;
  if (reachoutLockedUntilMs > nowMs) return RESTRICTED;
  const newChatCap = currentCap(account, nowMs);
  if (!newChatCap) return undefined;
  if (newChatCap.used >= newChatCap.total) return server.network.rules.namesCaps ? CAPPED : RESTRICTED;
  newChatCap.used += 1;
  return undefined;
}

function accept(server: Server, { device }: Client, message: Outgoing): void {
  const { counters, directory } = server.network;
  counters.acceptedStanzas += 1;
  const unknownUser = lacksRecipientNumber(server.network, device.number, message);
  countRepeat(server, device.number, message);
  if (!message.group && !message.broadcast) getAcquainted(server, device.number, message.recipient);
  const envelope = envelopeOf(server, device, message, unknownUser);
  for (const { place, jid, contents } of readersOf(server, device, message)) {
    const addressing = directory.resolve(jid)?.addressing ?? 'pn';
    server.office.deliver(place, { ...envelope, addressing, contents });
  }
}

function getAcquainted(server: Server, sender: string, recipient: string): void {
  const { accounts } = server.network;
  if (sender === recipient) return;
  accounts.ensure(sender).contacts.add(recipient);
  accounts.find(recipient)?.contacts.add(sender);
}

function envelopeOf(
  server: Server,
  device: DeviceOf,
  message: Outgoing,
  unknownUser: boolean,
): Omit<Envelope, 'contents' | 'addressing'> {
  const { id, to, stanza, group, broadcast } = message;
  return {
    id,
    sender: { number: device.number, device: device.id },
    chat: stanza.attrs.recipient ?? to,
    group: broadcast ? to : group?.jid,
    attrs: without(stanza.attrs, FOR_THE_SERVER),
    pushName: server.network.accounts.ensure(device.number).pushName,
    deviceIdentity: childBytes(stanza, 'device-identity'),
    ...(unknownUser && { unknownUser }),
    atMs: server.network.now(),
  };
}

type DeviceOf = Client['device'];

/** In a group every device of every member gets the shared form, after the form of its own if there is one. */
function readersOf(server: Server, device: DeviceOf, message: Outgoing): readonly Addressed[] {
  const { group, broadcast, resend, targets, shared } = message;
  const self = { number: device.number, device: device.id };
  const others = targets.filter(({ place }) => !isSame(place, self));
  if (broadcast && !resend) return others.map((each) => ({ ...each, contents: [...each.contents, ...shared] }));
  if (!group || resend) return others;
  const { directory } = server.network;
  return devicesOf(server.network, group.members.keys(), self).map((place) => {
    const own = others.find((target) => isSame(target.place, place));
    const jid = directory.jidOf(place.number, 'lid', place.device);
    return { place, jid: own?.jid ?? jid, contents: [...(own?.contents ?? []), ...shared] };
  });
}

function isSame(one: DevicePlace, other: DevicePlace): boolean {
  return one.number === other.number && one.device === other.device;
}

const logKey = (sender: string, { id, to }: Outgoing) => `${sender}/${id}/${to}`;

function countRepeat(server: Server, sender: string, message: Outgoing): void {
  const { id, resend } = message;
  const { counters } = server.network;
  const known = !server.office.log.note(logKey(sender, message));
  if (resend || (known && server.office.phones.awaitsResend(sender, id))) counters.retryResends += 1;
  else if (known) counters.duplicateStanzas += 1;
}

function acknowledge(server: Server, { session, device }: Client, message: Outgoing): void {
  server.network.counters.acks += 1;
  const { id, to } = message;
  const phash = missedDevicesHash(server, device, message);
  const refresh = refreshLid(server, device.number, message);
  session.send(node('ack', { class: 'message', id, from: to, t: stamp(server.network.now()), phash, ...refresh }));
}

/** The recipient has another hidden identifier than the sender's account knows. */
function refreshLid({ network }: Server, sender: string, message: Outgoing): { refresh_lid?: string } {
  const isDirect = !message.group && !message.broadcast;
  const sends = isDirect ? network.staleLids.noteSend(sender, message.recipient) : 0;
  if (sends > 1) network.counters.staleLidSends += 1;
  return sends > 0 ? { refresh_lid: 'true' } : {};
}

function refuse(server: Server, { session }: Client, stanza: BinaryNode, code: number): void {
  const { counters, now } = server.network;
  counters.refusedStanzas += 1;
  const { id, to } = stanza.attrs;
  session.send(node('ack', { class: 'message', id, from: to, t: stamp(now()), error: String(code) }));
}

/** When the sender left a device out, the ack carries the hash of the list it should have used. */
function missedDevicesHash(server: Server, device: DeviceOf, message: Outgoing): string | undefined {
  if (message.group || message.broadcast || message.resend || message.stanza.attrs.category === 'peer')
    return undefined;
  const { directory } = server.network;
  const people = new Set([message.recipient, device.number]);
  const wanted = devicesOf(server.network, people, { number: device.number, device: device.id });
  if (wanted.every((place) => message.targets.some((target) => isSame(target.place, place)))) return undefined;
  const addressing = directory.resolve(message.to)?.addressing ?? 'pn';
  const jids = wanted.map((place) => directory.jidOf(place.number, addressing, place.device)).sort();
  return `2:${createHash('sha256').update(jids.join('')).digest('base64').slice(0, 6)}`;
}

import { createHash } from 'node:crypto';
import type { FaultAction } from '../faults/fault-book.js';
import type { DevicePlace, Envelope, SealedContent } from '../messaging/envelope.js';
import type { CipherType } from '../phones/phone.js';
import { type BinaryNode, bytesOf, childBytes, childNamed, childrenNamed, node, stamp } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** Refusals, by the codes that clients know. */
const NOT_FOUND = 404;
const RESTRICTED = 463;
const STALE_DEVICES = 479;
const MALFORMED = 400;

/** The forms of one message for the devices it is for. */
interface Addressed {
  readonly place: DevicePlace;
  readonly jid: string;
  readonly contents: SealedContent[];
}

interface Outgoing {
  readonly stanza: BinaryNode;
  readonly id: string;
  readonly to: string;
  readonly recipient: string;
  /** Sent again to one device that asked for it. */
  readonly resend: boolean;
  readonly targets: readonly Addressed[];
}

/** A client sends a message: check it, deliver it, acknowledge it - or what a fault says instead. */
export function handleMessage(server: Server, client: Client, stanza: BinaryNode): void {
  const message = readMessage(server, stanza);
  if (!message) return refuse(server, client, stanza, MALFORMED);
  const { faults, counters } = server.network;
  const event = {
    account: client.device.number,
    device: client.device.id,
    recipient: message.recipient,
    messageId: message.id,
  };
  const fault = faults.strike('message', event) ?? {};
  if (fault.silent) return;
  const error = fault.ackError ?? refusalOf(server, client, message);
  if (error) return later(server, fault, () => refuse(server, client, stanza, error));
  if (fault.accept !== false) {
    accept(server, client, message);
    counters.acceptedStanzas += 1;
  }
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

function readMessage(server: Server, stanza: BinaryNode): Outgoing | undefined {
  const { id, to } = stanza.attrs;
  const recipient = server.network.directory.resolve(to)?.number;
  if (!id || !to || !recipient) return undefined;
  const listed = childrenNamed(childNamed(stanza, 'participants'), 'to');
  const direct = sealedContents(stanza);
  const nodes = listed.map((each) => ({ jid: each.attrs.jid ?? '', contents: sealedContents(each) }));
  const all = direct.length > 0 ? [{ jid: to, contents: direct }, ...nodes] : nodes;
  const targets = all.flatMap(({ jid, contents }) => {
    const place = server.network.directory.resolve(jid);
    return place ? [{ jid, contents, place }] : [];
  });
  if (targets.length < all.length || targets.some(({ contents }) => contents.length === 0)) return undefined;
  return { stanza, id, to, recipient, resend: direct.length > 0, targets };
}

function sealedContents(parent: BinaryNode): SealedContent[] {
  return childrenNamed(parent, 'enc').flatMap((enc) => {
    const { type, v: _version, ...attrs } = enc.attrs;
    const bytes = bytesOf(enc);
    return bytes && isCipherType(type) ? [{ type, attrs, bytes }] : [];
  });
}

const isCipherType = (type: string | undefined): type is CipherType =>
  type === 'pkmsg' || type === 'msg' || type === 'skmsg';

function refusalOf(server: Server, { device }: Client, message: Outgoing): number | undefined {
  const { directory, accounts } = server.network;
  if (!directory.exists(message.recipient)) return NOT_FOUND;
  const gone = ({ place }: Addressed) => place.device > 0 && !accounts.findDevice(place.number, place.device);
  if (message.targets.some(gone)) return STALE_DEVICES;
  return mayWriteTo(server, device.number, message.recipient) ? undefined : RESTRICTED;
}

/** A restricted account goes on with the conversations it has and opens no new ones. */
function mayWriteTo(server: Server, number: string, recipient: string): boolean {
  const account = server.network.accounts.ensure(number);
  if (number === recipient || account.contacts.has(recipient)) return true;
  const { reachoutLockedUntilMs = 0, newChatCap } = account.restrictions;
  if (reachoutLockedUntilMs > server.network.now()) return false;
  if (!newChatCap) return true;
  if (newChatCap.used >= newChatCap.total) return false;
  newChatCap.used += 1;
  return true;
}

function accept(server: Server, { device }: Client, message: Outgoing): void {
  countRepeat(server, device.number, message);
  const { accounts, directory, now } = server.network;
  const account = accounts.ensure(device.number);
  if (message.recipient !== device.number) {
    account.contacts.add(message.recipient);
    accounts.find(message.recipient)?.contacts.add(device.number);
  }
  const {
    id: _id,
    to: _to,
    recipient,
    participant: _participant,
    device_fanout: _fanout,
    ...attrs
  } = message.stanza.attrs;
  const envelope: Omit<Envelope, 'contents' | 'addressing'> = {
    id: message.id,
    sender: { number: device.number, device: device.id },
    chat: recipient ?? message.to,
    attrs,
    pushName: account.pushName,
    deviceIdentity: childBytes(message.stanza, 'device-identity'),
    atMs: now(),
  };
  for (const { place, jid, contents } of message.targets) {
    const addressing = directory.resolve(jid)?.addressing ?? 'pn';
    server.office.deliver(place, { ...envelope, addressing, contents });
  }
}

function countRepeat(server: Server, sender: string, { id, to, resend }: Outgoing): void {
  const { counters } = server.network;
  const known = !server.office.log.note(`${sender}/${id}/${to}`);
  if (resend || (known && server.office.phones.awaitsResend(sender, id))) counters.retryResends += 1;
  else if (known) counters.duplicateStanzas += 1;
}

function acknowledge(server: Server, { session, device }: Client, message: Outgoing): void {
  server.network.counters.acks += 1;
  const phash = message.resend ? undefined : missedDevicesHash(server, device.number, device.id, message);
  const { id, to } = message;
  session.send(node('ack', { class: 'message', id, from: to, t: stamp(server.network.now()), phash }));
}

function refuse(server: Server, { session }: Client, stanza: BinaryNode, code: number): void {
  const { counters, now } = server.network;
  counters.refusedStanzas += 1;
  counters.ackErrors += 1;
  const { id, to } = stanza.attrs;
  session.send(node('ack', { class: 'message', id, from: to, t: stamp(now()), error: String(code) }));
}

/** When the sender left a device out, the ack carries the hash of the list it should have used. */
function missedDevicesHash(server: Server, number: string, deviceId: number, message: Outgoing): string | undefined {
  const { accounts, directory } = server.network;
  const addressing = directory.resolve(message.to)?.addressing ?? 'pn';
  const places = new Set([message.recipient, number]);
  const wanted = [...places].flatMap((each) =>
    [0, ...(accounts.find(each)?.devices.keys() ?? [])].map((device) => ({ number: each, device })),
  );
  const others = wanted.filter((place) => place.number !== number || place.device !== deviceId);
  const reached = (place: DevicePlace) =>
    message.targets.some((target) => target.place.number === place.number && target.place.device === place.device);
  if (message.stanza.attrs.category === 'peer' || others.every(reached)) return undefined;
  const jids = others.map((place) => directory.jidOf(place.number, addressing, place.device)).sort();
  return `2:${createHash('sha256').update(jids.join('')).digest('base64').slice(0, 6)}`;
}

import { proto } from '@whiskeysockets/baileys';
import type { LinkedDevice } from '../accounts/linked-device.js';
import { sign } from '../crypto/curve.js';
import { namespaceOf, receiptNamespace } from '../network/namespace-of.js';
import type { Network } from '../network/network.js';
import type { PeerRequest } from '../phone-app/answer-request.js';
import { PhoneAgent, type ReceiptKind, type ReceiptSender } from '../phone-app/phone-agent.js';
import { PhoneWriter } from '../phone-app/phone-writer.js';
import { type BinaryNode, node, stamp } from '../wire/nodes.js';
import { AcceptedLog } from './accepted-log.js';
import type { DevicePlace, Envelope } from './envelope.js';

const RECEIPT_TYPES: Record<ReceiptKind, string | undefined> = {
  delivery: undefined,
  read: 'read',
  played: 'played',
  retry: 'retry',
  sender: 'sender',
};

/** Carries messages to devices and receipts back: device 0 is a simulated phone, the others are clients' mailboxes. */
export class PostOffice implements ReceiptSender {
  readonly phones: PhoneAgent;
  readonly writer: PhoneWriter;
  readonly log = new AcceptedLog();
  readonly #network: Network;

  constructor(network: Network) {
    this.#network = network;
    this.phones = new PhoneAgent(network, this);
    this.writer = new PhoneWriter(network, (target, envelope) => this.deliver(target, envelope));
  }

  deliver(target: DevicePlace, envelope: Envelope): void {
    if (!envelope.group && this.#isBlocked(envelope.sender.number, target.number)) return;
    if (target.device === 0) return this.phones.receive(target.number, envelope);
    const device = this.#network.accounts.findDevice(target.number, target.device);
    device?.mailbox.post(this.#messageStanza(target, envelope));
  }

  sendReceipt(from: string, about: Envelope, kind: ReceiptKind, content?: BinaryNode[]): void {
    if (about.sender.device === 0) this.writer.noteReceipt(about.sender.number, about.id, kind);
    const type = RECEIPT_TYPES[kind];
    const person = this.#network.directory.jidOf(from, receiptNamespace(this.#network, kind, about.addressing));
    const place = about.group ? { from: about.group, participant: person } : { from: person };
    const own = from === about.sender.number ? { recipient: about.chat } : {};
    const attrs = { id: about.id, ...place, ...own, type, t: stamp(this.#network.now()) };
    const onlySender = kind === 'retry' || kind === 'sender';
    const post = () => this.postReceipt(about.sender, node('receipt', attrs, content), onlySender);
    const { faults } = this.#network;
    const event = { account: about.sender.number, recipient: from, messageId: about.id };
    const fault = faults.strike('receipt', event);
    if (!fault) return post();
    if (!fault.silent) setTimeout(post, faults.delayOf(fault)).unref();
  }

  answerRequest({ id, sender }: Envelope, request: PeerRequest): void {
    const device = this.#network.accounts.findDevice(sender.number, sender.device);
    if (device) void this.writer.answer(device, id, request);
  }

  /** To all linked clients of the sender's account, or only to the device that sent the message. */
  postReceipt(sender: DevicePlace, receipt: BinaryNode, onlySender: boolean): void {
    for (const device of this.#devicesOf(sender, onlySender)) device.mailbox.post(receipt);
  }

  #devicesOf(sender: DevicePlace, onlySender: boolean): Iterable<LinkedDevice> {
    const devices = this.#network.accounts.find(sender.number)?.devices;
    if (!onlySender) return devices?.values() ?? [];
    const device = devices?.get(sender.device);
    return device ? [device] : [];
  }

  /** Blocked senders are not told: their messages are acknowledged, and arrive nowhere but in groups. */
  #isBlocked(sender: string, recipient: string): boolean {
    const { accounts, directory } = this.#network;
    const blocked = accounts.find(recipient)?.blocked;
    if (!blocked?.size) return false;
    return blocked.has(directory.jidOf(sender, 'pn')) || blocked.has(directory.jidOf(sender, 'lid'));
  }

  #messageStanza(target: DevicePlace, envelope: Envelope): BinaryNode {
    const { id, sender, group, attrs, pushName, atMs } = envelope;
    const { directory } = this.#network;
    // What a phone writes comes as it says; between clients each side sees the other in its own account's namespace.
    const isAsWritten = group !== undefined || sender.device === 0;
    const addressing = isAsWritten
      ? envelope.addressing
      : namespaceOf(this.#network, target.number, envelope.addressing);
    const author = directory.jidOf(sender.number, addressing, sender.device);
    const alias = directory.jidOf(sender.number, addressing === 'pn' ? 'lid' : 'pn');
    const aliasRole = addressing === 'pn' ? 'lid' : 'pn';
    const hasAlias = directory.numberOf(sender.number) !== undefined;
    const own = sender.number === target.number;
    const place = group
      ? { from: group, participant: author, [`participant_${aliasRole}`]: alias, addressing_mode: addressing }
      : { from: author, ...(own ? ownPlace(envelope) : hasAlias ? { [`sender_${aliasRole}`]: alias } : {}) };
    const head = { ...attrs, id, ...place, notify: pushName, t: stamp(atMs) };
    return node('message', head, [...contentNodes(envelope), ...this.#businessNodes(sender.number)]);
  }

  /** Messages of a business carry its name, vouched for by its identity key. */
  #businessNodes(number: string): BinaryNode[] {
    const { accounts, phones } = this.#network;
    const account = accounts.find(number);
    if (!account?.business) return [];
    const details = proto.VerifiedNameCertificate.Details.encode({
      serial: account.rawId,
      issuer: 'smb:wa',
      verifiedName: account.pushName,
    }).finish();
    const signature = sign(phones.keyring.keysOf(number).identity.privateKey, details);
    return [node('verified_name', {}, proto.VerifiedNameCertificate.encode({ details, signature }).finish())];
  }
}

/** A copy for the sender's own other devices names the conversation it belongs to; a message from the phone itself does not. */
function ownPlace({ chat, attrs }: Envelope): Record<string, string> {
  return attrs.category === 'peer' ? {} : { recipient: chat };
}

function contentNodes({ contents, deviceIdentity, missing }: Envelope): BinaryNode[] {
  if (missing) return [node('unavailable', missing)];
  const nodes = contents.map(({ type, attrs, bytes }) => node('enc', { ...attrs, v: '2', type }, bytes));
  if (deviceIdentity && contents.some(({ type }) => type === 'pkmsg')) {
    nodes.push(node('device-identity', {}, deviceIdentity));
  }
  return nodes;
}

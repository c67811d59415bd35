import type { proto } from '@whiskeysockets/baileys';
import type { Envelope, SealedContent } from '../messaging/envelope.js';
import { verifyDeviceIdentity } from '../messaging/verify-device-identity.js';
import type { Network } from '../network/network.js';
import type { InboxRow } from '../phones/inbox.js';
import { makePhoneBundle, retryKeysNode } from '../phones/key-bundle.js';
import type { Phone } from '../phones/phone.js';
import { readContent } from '../phones/read-content.js';
import { type BinaryNode, bigEndian, node, stamp } from '../wire/nodes.js';
import type { PeerRequest } from './answer-request.js';
import { PhoneFiles } from './phone-files.js';

export type ReceiptKind = 'delivery' | 'read' | 'played' | 'retry' | 'sender';

/** How a phone answers: by receipts that the post office carries to the sender, and by what its own clients ask it for. */
export interface ReceiptSender {
  sendReceipt(from: string, about: Envelope, kind: ReceiptKind, content?: BinaryNode[]): void;
  answerRequest(about: Envelope, request: PeerRequest): void;
}

/** After this many tries the phone gives a message up: it shows "waiting for this message" for good. */
const MOST_RETRIES = 5;
const READ_BEAT_MS = 10;

/**
 * Does what the phones do with what arrives: decrypt, drop what was shown before, show, confirm, ask again.
 * A phone that is switched off keeps everything waiting until it is on.
 */
export class PhoneAgent {
  readonly files: PhoneFiles;
  readonly #network: Network;
  readonly #receipts: ReceiptSender;
  readonly #waiting = new Map<string, Envelope[]>();
  /** phone/sender/id -> how often the phone asked for the message again. */
  readonly #retries = new Map<string, number>();
  /** sender/id of messages that some phone asked for again. */
  readonly #asked = new Set<string>();

  constructor(network: Network, receipts: ReceiptSender) {
    this.#network = network;
    this.#receipts = receipts;
    this.files = new PhoneFiles(network.media);
  }

  /** An envelope reaches the phone of `number`. */
  receive(number: string, envelope: Envelope): void {
    if (!this.#network.phones.habitsOf(number).online) return this.#keep(number, envelope);
    const phone = this.#network.phones.phone(number);
    if (envelope.sender.number === number) return this.#receiveOwnCopy(phone, envelope);
    const row = phone.inbox.arrive(envelope.sender.number, envelope.id, envelope.atMs, envelope.group);
    if (envelope.unknownUser) row.details = { ...row.details, unknownUser: true };
    if (!this.#decrypts(number)) return this.#takeUnread(number, envelope, row);
    void phone.inTurn(() => this.#open(phone, envelope, row));
  }

  /** Was this message asked for again by a phone? Then its second sending is no mistake of the sender. */
  awaitsResend(sender: string, id: string): boolean {
    return this.#asked.has(`${sender}/${id}`);
  }

  /** Switched on again: what waited arrives now, in order. */
  wake(number: string): void {
    const waiting = this.#waiting.get(number) ?? [];
    this.#waiting.delete(number);
    for (const envelope of waiting) this.receive(number, envelope);
  }

  /** What phones that are switched off will get. */
  save(): ReadonlyMap<string, readonly Envelope[]> {
    return this.#waiting;
  }

  load(waiting: ReadonlyMap<string, readonly Envelope[]>): void {
    for (const [number, envelopes] of waiting) this.#waiting.set(number, [...envelopes]);
  }

  #keep(number: string, envelope: Envelope): void {
    const waiting = this.#waiting.get(number) ?? [];
    waiting.push(envelope);
    this.#waiting.set(number, waiting);
  }

  async #open(phone: Phone, envelope: Envelope, row: InboxRow): Promise<void> {
    try {
      this.#show(phone.number, envelope, row, await this.#decrypt(phone, envelope));
    } catch (error) {
      this.#askAgain(phone, envelope, row, error);
    }
  }

  /** What the sender's own phone gets: the same message, wrapped, so that the conversation shows there too. */
  #receiveOwnCopy(phone: Phone, envelope: Envelope): void {
    if (!this.#decrypts(phone.number)) {
      this.#network.counters.sampledOut += 1;
      return this.#confirmOwnCopy(phone.number, envelope);
    }
    void phone.inTurn(async () => {
      try {
        this.#takeOwnCopy(phone, envelope, await this.#decrypt(phone, envelope));
      } catch (error) {
        this.#askAgain(phone, envelope, undefined, error);
      }
    });
  }

  #takeOwnCopy(phone: Phone, envelope: Envelope, message: proto.IMessage): void {
    const content = message.deviceSentMessage?.message ?? message;
    const request = content.protocolMessage?.peerDataOperationRequestMessage;
    if (request) return this.#receipts.answerRequest(envelope, request);
    phone.ownCopies += 1;
    const chat = envelope.group ?? this.#network.directory.resolve(envelope.chat)?.number ?? envelope.chat;
    const { text } = readContent(content);
    phone.remember({ id: envelope.id, chat, from: phone.number, text, atMs: envelope.atMs });
    this.#confirmOwnCopy(phone.number, envelope);
  }

  /** Tells the client that its phone has the message, too. About groups phones say nothing. */
  #confirmOwnCopy(number: string, envelope: Envelope): void {
    const isConversation = !envelope.group && envelope.attrs.category !== 'peer';
    if (isConversation) this.#receipts.sendReceipt(number, envelope, 'sender');
  }

  async #decrypt(phone: Phone, envelope: Envelope): Promise<proto.IMessage> {
    const { number, device } = envelope.sender;
    let message: proto.IMessage | undefined;
    for (const content of envelope.contents) {
      if (content.type === 'pkmsg') this.#checkSender(envelope);
      const part = await this.#decryptPart(phone, envelope, content);
      this.#network.counters.decrypted += 1;
      message = { ...message, ...part };
      const { senderKeyDistributionMessage: key } = part;
      if (key?.axolotlSenderKeyDistributionMessage && key.groupId) {
        await phone.learnSenderKey(key.groupId, number, device, key.axolotlSenderKeyDistributionMessage);
      }
    }
    if (!message) throw new Error('message without content');
    return message;
  }

  #decryptPart(phone: Phone, envelope: Envelope, content: SealedContent): Promise<proto.Message> {
    const { number, device } = envelope.sender;
    if (content.type !== 'skmsg') return phone.decrypt(number, device, { type: content.type, bytes: content.bytes });
    return phone.decryptGroup(envelope.group ?? envelope.chat, number, device, content.bytes);
  }

  /** A stranger's linked device must prove that it belongs to the account it writes for. */
  #checkSender({ sender, deviceIdentity }: Envelope): void {
    if (sender.device === 0) return;
    const device = this.#network.accounts.findDevice(sender.number, sender.device);
    if (deviceIdentity && device?.verifiedIdentity?.equals(deviceIdentity)) return;
    const account = this.#network.phones.keyring.keysOf(sender.number).identity.publicKey;
    if (device && verifyDeviceIdentity(device, account, deviceIdentity)) return;
    this.#network.counters.invalidSignatures += 1;
    throw new Error('device identity does not verify');
  }

  #show(number: string, envelope: Envelope, row: InboxRow, message: proto.IMessage): void {
    if (row.shown > 0) {
      this.#network.counters.repeatsDropped += 1;
      return this.#confirm(number, envelope, row);
    }
    const { details, ...read } = readContent(message);
    Object.assign(row, read);
    if (details) row.details = { ...row.details, ...details };
    this.files.note(row, message);
    this.#markShown(number, envelope, row);
  }

  /** Sampling: counts as shown, unread. */
  #takeUnread(number: string, envelope: Envelope, row: InboxRow): void {
    this.#network.counters.sampledOut += 1;
    if (row.shown > 0) this.#network.counters.repeatsDropped += 1;
    else if (row.type === '') row.type = envelope.attrs.type ?? 'text';
    if (row.shown > 0) this.#confirm(number, envelope, row);
    // The sender must have its ack before the receipt, as it would from afar.
    else queueMicrotask(() => this.#markShown(number, envelope, row));
  }

  #markShown(number: string, envelope: Envelope, row: InboxRow): void {
    row.shown += 1;
    this.#network.counters.shown += 1;
    this.#confirm(number, envelope, row);
  }

  #confirm(number: string, envelope: Envelope, row: InboxRow): void {
    row.deliveredAt ??= this.#network.now();
    this.#network.counters.deliveryReceipts += 1;
    this.#receipts.sendReceipt(number, envelope, 'delivery');
    const { autoRead, readDelayMs } = this.#network.phones.habitsOf(number);
    const reads = autoRead === 'auto' ? !this.#network.accounts.find(number)?.isLinked : autoRead;
    if (!reads) return;
    if (readDelayMs === 0) return this.#read(number, envelope, row);
    // People look up together: what is read within a beat leaves in one piece.
    const delayMs = readDelayMs + READ_BEAT_MS - (this.#network.now() % READ_BEAT_MS);
    setTimeout(() => this.#read(number, envelope, row), delayMs).unref();
  }

  #read(number: string, envelope: Envelope, row: InboxRow): void {
    row.readAt ??= this.#network.now();
    this.#network.counters.readReceipts += 1;
    this.#receipts.sendReceipt(number, envelope, 'read');
    if (row.type === 'audio') this.#receipts.sendReceipt(number, envelope, 'played');
  }

  #askAgain(phone: Phone, envelope: Envelope, row: InboxRow | undefined, error: unknown): void {
    const { counters, logger } = this.#network;
    if (row && row.shown > 0) {
      // A repeat of what was shown: its keys were used before, and that is no reason to ask for it again.
      counters.repeatsDropped += 1;
      return this.#confirm(phone.number, envelope, row);
    }
    counters.decryptFailures += 1;
    logger.info('phone cannot decrypt', { id: envelope.id, reason: String(error) });
    const key = `${phone.number}/${envelope.sender.number}/${envelope.id}`;
    const count = (this.#retries.get(key) ?? 0) + 1;
    if (count > MOST_RETRIES) return;
    this.#retries.set(key, count);
    this.#asked.add(`${envelope.sender.number}/${envelope.id}`);
    counters.retryReceipts += 1;
    this.#receipts.sendReceipt(phone.number, envelope, 'retry', this.#retryContent(phone, envelope, count));
  }

  #retryContent(phone: Phone, { id, atMs }: Envelope, count: number): BinaryNode[] {
    const bundle = makePhoneBundle(this.#network.phones.keyring, phone.number);
    return [
      node('retry', { count: String(count), id, t: stamp(atMs), v: '1', error: '0' }),
      node('registration', {}, bigEndian(bundle.registrationId, 4)),
      retryKeysNode(bundle),
    ];
  }

  /** By phone, not by message: a ratchet that misses messages would break. */
  #decrypts(number: string): boolean {
    const { decryptSample } = this.#network.settings;
    return decryptSample >= 1 || this.#network.seed.fraction(`sample/${number}`) < decryptSample;
  }
}

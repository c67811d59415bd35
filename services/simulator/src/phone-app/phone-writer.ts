import { randomBytes } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import type { LinkedDevice } from '../accounts/linked-device.js';
import type { Addressing } from '../directory/jids.js';
import type { DevicePlace, Envelope, SealedContent } from '../messaging/envelope.js';
import { giveTokenWhenDue } from '../messaging/privacy-tokens.js';
import { settingsKeyOf } from '../messaging/salt-patch.js';
import { namespaceOf } from '../network/namespace-of.js';
import type { Network } from '../network/network.js';
import { type KeyBundle, makePhoneBundle } from '../phones/key-bundle.js';
import { answerRequest, type PeerRequest } from './answer-request.js';
import { attrsOf, composeMessage, type PhoneDraft } from './compose-message.js';
import type { ReceiptKind } from './phone-agent.js';
import { introductions, type Remembered, remembered } from './phone-history.js';

/** A message that a phone wrote, as its owner sees it. */
export interface WrittenMessage {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly at: number;
  deliveredAt: number | null;
  readAt: number | null;
}

interface Draft extends WrittenMessage {
  readonly message: proto.IMessage;
  readonly attrs: Record<string, string>;
  /** Not given: the namespace of the account that it arrives at. */
  readonly addressing: Addressing | undefined;
  readonly phoneOnly?: PhoneOnly | undefined;
  /** Once it is confirmed, the client knows all that a new one is told. */
  readonly endsIntroduction?: boolean;
}

export interface WriteOptions {
  /** Default: a random one. */
  readonly id?: string | undefined;
  /**
   * Whether the message comes under the number of its writer or their hidden identifier. Default: what the account that
   * gets it uses; `pn` under the profile 2025.
   */
  readonly addressing?: Addressing | undefined;
  readonly phoneOnly?: PhoneOnly | undefined;
}

/**
 * Why linked devices of its recipient get a mark in place of a message. Of a `fanout` the phone may say it again: it has come from
 * an advertisement, for instance, and was sealed for the phone alone; so it may of an `unreadable` one, of which linked devices get what
 * they cannot decrypt, however often they ask for it. Of the others it says nothing.
 */
export type PhoneOnly = 'fanout' | 'viewOnce' | 'hosted' | 'unreadable';

const MARKS: Partial<Record<PhoneOnly, Record<string, string>>> = {
  fanout: {},
  viewOnce: { type: 'view_once' },
  hosted: { hosted: 'true' },
};

type Deliver = (target: DevicePlace, envelope: Envelope) => void;

const { Type: ProtocolType } = proto.Message.ProtocolMessage;

/** What phones send: messages to linked clients, and to clients of their own account what these ask for, or must know. */
export class PhoneWriter {
  readonly #network: Network;
  readonly #deliver: Deliver;
  readonly #written = new Map<string, Draft>();

  constructor(network: Network, deliver: Deliver) {
    this.#network = network;
    this.#deliver = deliver;
  }

  /** The messages that owners of phones wrote; what phones tell their own clients is not among them. */
  written(): WrittenMessage[] {
    return [...this.#written.values()].filter(({ from, to }) => from !== to);
  }

  /** What was written, for clients that ask for it again. */
  save(): ReadonlyMap<string, Draft> {
    return this.#written;
  }

  load(written: ReadonlyMap<string, Draft>): void {
    for (const [key, draft] of written) this.#written.set(key, draft);
  }

  /** The owner of `from` writes to `to`: to the phone and the linked clients there, and a copy to the clients here. */
  async write(
    from: string,
    to: string,
    message: proto.IMessage,
    { id = newMessageId(), addressing, phoneOnly }: WriteOptions = {},
  ): Promise<WrittenMessage> {
    const { accounts, now } = this.#network;
    const place = { id, from, to, at: now(), deliveredAt: null, readAt: null };
    const draft: Draft = { ...place, message, attrs: attrsOf(message), addressing, phoneOnly };
    this.#written.set(`${from}/${id}`, draft);
    accounts.find(to)?.contacts.add(from);
    for (const device of accounts.find(to)?.devices.values() ?? []) await this.#send(draft, device);
    for (const device of accounts.find(from)?.devices.values() ?? []) await this.#send(draft, device);
    if (from !== to) await this.#sendToPhone(draft);
    if (from !== to) giveTokenWhenDue(this.#network, { giver: from, holder: to });
    return draft;
  }

  /** The same, of any kind. */
  async compose(from: string, to: string, draft: PhoneDraft, options: WriteOptions = {}): Promise<WrittenMessage> {
    const { directory, media, settings, now } = this.#network;
    const { mediaHost } = settings;
    const addressing = this.#addressingFor({ addressing: options.addressing }, to);
    const [chat, writer] = [to, from].map((number) => directory.jidOf(number, addressing)) as [string, string];
    const secretOf = (id: string) =>
      this.#written.get(`${from}/${id}`)?.message.messageContextInfo?.messageSecret ?? undefined;
    const deps = { media, mediaHost, chat, writer, atMs: now(), secretOf };
    return this.write(from, to, composeMessage(deps, draft), options);
  }

  /** What the phone that got a message says of it. */
  noteReceipt(from: string, id: string, kind: ReceiptKind): void {
    const draft = this.#written.get(`${from}/${id}`);
    if (!draft) return;
    if (kind === 'retry') {
      this.#network.phones.phone(from).forgetSession(draft.to, 0);
      void this.#sendToPhone(draft);
    } else draft.deliveredAt ??= this.#network.now();
    if (kind === 'read') draft.readAt ??= this.#network.now();
  }

  /** A client confirmed, or could not read, what a phone wrote. */
  receiveReceipt(from: string, device: LinkedDevice, ids: readonly string[], type: string | undefined): void {
    for (const id of ids) {
      const draft = this.#written.get(`${from}/${id}`);
      if (!draft) continue;
      if (draft.endsIntroduction && type === 'hist_sync') device.introduced = true;
      // A history is confirmed twice: that it came, and that it was taken over.
      const isDone = draft.endsIntroduction ? type === 'hist_sync' : type !== 'retry';
      if (draft.from === draft.to && isDone) this.#written.delete(`${from}/${id}`);
      if (type === 'retry') void this.#sendAgain(draft, device);
      else if (device.number === draft.to) draft.deliveredAt ??= this.#network.now();
      if (type === 'read') draft.readAt ??= this.#network.now();
    }
  }

  /**
   * The phone of a newly linked client shares the keys of the account's settings and what it remembers. Under its hidden
   * identifier: the client learns its own mapping in these moments, and a session kept by number would get lost.
   */
  async introduce(device: LinkedDevice): Promise<void> {
    const { number } = device;
    const history = introductions(this.#network, number, this.#memoriesOf(number));
    await this.#tell(device, this.#keyShare(number));
    for (const message of history) await this.#tell(device, message, message === history.at(-1));
  }

  /** Tells all clients of an account something that only they are to know. */
  async tellClients(number: string, message: proto.IMessage): Promise<void> {
    for (const device of this.#network.accounts.find(number)?.devices.values() ?? []) await this.#tell(device, message);
  }

  /** A client asks its own phone for something. */
  async answer(device: LinkedDevice, id: string, request: PeerRequest): Promise<void> {
    const { number } = device;
    const messages = this.#memoriesOf(number);
    const wholeOf = (about: Remembered) => this.#wholeOf(about);
    const answer = answerRequest(this.#network, number, { id, request, messages, wholeOf });
    if (answer) await this.#tell(device, answer);
  }

  /** A message as it was written; `null` for one that is for the eyes of the phone's owner alone. */
  #wholeOf({ from, id }: Remembered): proto.IMessage | null | undefined {
    const draft = this.#written.get(`${from}/${id}`);
    return draft?.phoneOnly === 'viewOnce' || draft?.phoneOnly === 'hosted' ? null : draft?.message;
  }

  /** A message that the people of a conversation do not see. */
  async #tell(device: LinkedDevice, message: proto.IMessage, endsIntroduction = false): Promise<void> {
    const { number } = device;
    const id = newMessageId();
    const place = { id, from: number, to: number, at: this.#network.now(), deliveredAt: null, readAt: null };
    const attrs = { type: 'text', category: 'peer' };
    const draft: Draft = { ...place, message, attrs, addressing: 'lid', endsIntroduction };
    this.#written.set(`${number}/${id}`, draft);
    await this.#send(draft, device);
  }

  #memoriesOf(number: string): Remembered[] {
    const own = this.written().filter(({ from }) => from === number) as Draft[];
    const written = own.map(({ id, from, to, at, message }) => {
      return { id, chat: to, from, text: message.conversation ?? null, atMs: at };
    });
    return remembered(this.#network, number, written);
  }

  async #sendAgain(draft: Draft, device: LinkedDevice): Promise<void> {
    this.#network.phones.phone(draft.from).forgetSession(device.number, device.id);
    await this.#send(draft, device);
  }

  async #send(draft: Draft, device: LinkedDevice): Promise<void> {
    const { from, to, message } = draft;
    const destinationJid = this.#network.directory.jidOf(to, this.#addressingFor(draft, device.number));
    const isCopy = device.number === from && from !== to;
    const content = isCopy ? { deviceSentMessage: { destinationJid, message } } : message;
    const place = { number: device.number, device: device.id };
    if (draft.phoneOnly && device.number === to) return this.#deliver(place, this.#withoutContent(draft, place));
    await this.#seal(draft, { place, content, bundle: () => device.takeBundle() });
  }

  async #sendToPhone(draft: Draft): Promise<void> {
    const { directory, phones } = this.#network;
    if (!directory.exists(draft.to)) return;
    const bundle = () => makePhoneBundle(phones.keyring, draft.to);
    await this.#seal(draft, { place: { number: draft.to, device: 0 }, content: draft.message, bundle });
  }

  /** In which namespace the clients of an account see a message. */
  #addressingFor({ addressing }: Pick<Draft, 'addressing'>, number: string): Addressing {
    return addressing ?? namespaceOf(this.#network, number, 'pn');
  }

  async #seal(
    draft: Draft,
    { place, content, bundle }: { place: DevicePlace; content: proto.IMessage; bundle: () => KeyBundle },
  ): Promise<void> {
    const { phones, logger } = this.#network;
    const { id, from } = draft;
    const phone = phones.phone(from);
    try {
      const { type, bytes } = await phone.inTurn(() => phone.encrypt(place.number, place.device, content, bundle));
      this.#deliver(place, this.#envelope(draft, place, [{ type, attrs: {}, bytes }]));
    } catch (error) {
      logger.warn('phone could not write', { id, reason: String(error) });
    }
  }

  #withoutContent(draft: Draft, place: DevicePlace): Envelope {
    const noise: SealedContent = { type: 'msg', attrs: {}, bytes: randomBytes(100) };
    return this.#envelope(draft, place, draft.phoneOnly === 'unreadable' ? [noise] : []);
  }

  /** Without contents: only that there is a message. */
  #envelope(draft: Draft, place: DevicePlace, contents: readonly SealedContent[]): Envelope {
    const { accounts, directory, now } = this.#network;
    const { id, from, to, attrs, phoneOnly } = draft;
    const addressing = this.#addressingFor(draft, place.number);
    return {
      ...{ id, addressing, attrs, contents, atMs: now() },
      sender: { number: from, device: 0 },
      chat: directory.jidOf(to, addressing),
      pushName: accounts.ensure(from).pushName,
      ...(contents.length === 0 && phoneOnly && { missing: MARKS[phoneOnly] }),
    };
  }

  #keyShare(number: string): proto.IMessage {
    const { id, secret } = settingsKeyOf(this.#network, number);
    const fingerprint = { rawId: this.#network.accounts.ensure(number).rawId, currentIndex: 0, deviceIndexes: [0] };
    const keyData = { keyData: secret, fingerprint, timestamp: this.#network.now() };
    const keys = [{ keyId: { keyId: id }, keyData }];
    return { protocolMessage: { type: ProtocolType.APP_STATE_SYNC_KEY_SHARE, appStateSyncKeyShare: { keys } } };
  }
}

function newMessageId(): string {
  return randomBytes(16).toString('hex').toUpperCase();
}

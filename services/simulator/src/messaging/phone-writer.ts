import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { proto } from '@whiskeysockets/baileys';
import type { LinkedDevice } from '../accounts/linked-device.js';
import type { Addressing } from '../directory/jids.js';
import type { Network } from '../network/network.js';
import type { DevicePlace, Envelope } from './envelope.js';

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
  readonly addressing: Addressing;
}

export interface WriteOptions {
  /** Default: a random one. */
  readonly id?: string | undefined;
  /** Whether the message comes under the number of its writer or their hidden identifier. Default `pn`. */
  readonly addressing?: Addressing | undefined;
}

type Deliver = (target: DevicePlace, envelope: Envelope) => void;

const { Type: ProtocolType } = proto.Message.ProtocolMessage;

/** What phones send: messages to linked clients, and to newly linked clients of their own account the first history. */
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

  /** The owner of `from` writes to `to`. Reaches the linked clients of `to`; simulated phones do not read each other. */
  async write(
    from: string,
    to: string,
    message: proto.IMessage,
    { id = newMessageId(), addressing = 'pn' }: WriteOptions = {},
  ): Promise<WrittenMessage> {
    const { accounts, now } = this.#network;
    const attrs = { type: message.conversation || message.extendedTextMessage ? 'text' : 'media' };
    const place = { id, from, to, at: now(), deliveredAt: null, readAt: null };
    const draft: Draft = { ...place, message, attrs, addressing };
    this.#written.set(`${from}/${id}`, draft);
    accounts.find(to)?.contacts.add(from);
    for (const device of accounts.find(to)?.devices.values() ?? []) await this.#send(draft, device);
    return draft;
  }

  /** A client confirmed, or could not read, what a phone wrote. */
  receiveReceipt(from: string, device: LinkedDevice, ids: readonly string[], type: string | undefined): void {
    for (const id of ids) {
      const draft = this.#written.get(`${from}/${id}`);
      if (!draft) continue;
      if (type === 'retry') void this.#sendAgain(draft, device);
      else draft.deliveredAt ??= this.#network.now();
      if (type === 'read') draft.readAt ??= this.#network.now();
    }
  }

  /**
   * The phone of a newly linked client shares the keys of the account's settings and an (empty) first history. Under its
   * hidden identifier: the client learns its own mapping in these moments, and a session kept by number would get lost.
   */
  async introduce(device: LinkedDevice): Promise<void> {
    const { number } = device;
    for (const message of [this.#keyShare(number), historyStub()]) {
      const place = {
        id: newMessageId(),
        from: number,
        to: number,
        at: this.#network.now(),
        deliveredAt: null,
        readAt: null,
      };
      const draft: Draft = { ...place, message, attrs: { type: 'text', category: 'peer' }, addressing: 'lid' };
      this.#written.set(`${number}/${draft.id}`, draft);
      await this.#send(draft, device);
    }
  }

  async #sendAgain(draft: Draft, device: LinkedDevice): Promise<void> {
    this.#network.phones.phone(draft.from).forgetSession(device.number, device.id);
    await this.#send(draft, device);
  }

  async #send(draft: Draft, device: LinkedDevice): Promise<void> {
    const { phones, accounts, directory, logger, now } = this.#network;
    const phone = phones.phone(draft.from);
    try {
      const sealed = await phone.inTurn(() =>
        phone.encrypt(device.number, device.id, draft.message, () => device.takeBundle()),
      );
      this.#deliver(
        { number: device.number, device: device.id },
        {
          id: draft.id,
          sender: { number: draft.from, device: 0 },
          addressing: draft.addressing,
          chat: directory.jidOf(draft.to, draft.addressing),
          attrs: draft.attrs,
          pushName: accounts.ensure(draft.from).pushName,
          contents: [{ type: sealed.type, attrs: {}, bytes: sealed.bytes }],
          atMs: now(),
        },
      );
    } catch (error) {
      logger.warn('phone could not write', { id: draft.id, reason: String(error) });
    }
  }

  #keyShare(number: string): proto.IMessage {
    const secret = this.#network.seed.derive(`app-state-key/${number}`);
    const keyId = { keyId: secret.subarray(0, 6) };
    const fingerprint = { rawId: this.#network.accounts.ensure(number).rawId, currentIndex: 0, deviceIndexes: [0] };
    const keyData = { keyData: secret, fingerprint, timestamp: this.#network.now() };
    const keys = [{ keyId, keyData }];
    return { protocolMessage: { type: ProtocolType.APP_STATE_SYNC_KEY_SHARE, appStateSyncKeyShare: { keys } } };
  }
}

/** "There is nothing to tell": what lets a client stop waiting for its history. */
function historyStub(): proto.IMessage {
  const syncType = proto.HistorySync.HistorySyncType.INITIAL_BOOTSTRAP;
  const history = proto.HistorySync.encode({ syncType, chunkOrder: 1, progress: 100 }).finish();
  const historySyncNotification = {
    syncType: syncType as number,
    chunkOrder: 1,
    progress: 100,
    initialHistBootstrapInlinePayload: deflateSync(history),
  };
  return { protocolMessage: { type: ProtocolType.HISTORY_SYNC_NOTIFICATION, historySyncNotification } };
}

function newMessageId(): string {
  return randomBytes(16).toString('hex').toUpperCase();
}

import type { RecipientChange } from '@gateway/contracts/events/entry';
import { keylessId } from '@gateway/contracts/events/event-id';
import type { ChangeData } from '@gateway/contracts/events/events';
import { type DeviceAddress, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { unpackNumber } from '@gateway/contracts/sends/packed-send';
import { type PlatformIds, platformIds } from '@gateway/contracts/sends/platform-id';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import type { Store } from '../core/store.js';
import { readIdKey } from '../devices/devices.js';
import { readBeginning, readPlaces, type SendRecord } from '../sends/read-send.js';
import { isToldWithoutKey } from './reading/key-patience.js';

/** Recipients that are looked up together, 24 kB: what a send of a usual length has to tell takes one command. */
const BLOCK = 1_024;

/** What entries say by index, looked up: of each send and of each device once. */
export class SendsOfEvents {
  readonly #sends = new Map<string, Promise<SendRecord | undefined>>();
  readonly #ids = new Map<string, Promise<PlatformIds | undefined>>();
  /** Places of recipients, as they lie in Redis. */
  readonly #blocks = new Map<string, Promise<Buffer>>();

  constructor(private readonly store: Store) {}

  /** `undefined` for one that is gone. Throws `UnknownVersionError` for one that only another version can read: that one tells of it. */
  find(address: DeviceAddress, tag: SendTag): Promise<SendRecord | undefined> {
    const place = placeOf(address, tag);
    const known = this.#sends.get(place);
    if (known) return known;
    const found = readBeginning(this.store, address, { tag, limit: BLOCK }).then((beginning) => {
      if (beginning) this.#blocks.set(`${place}/0`, Promise.resolve(beginning.places));
      return beginning?.send;
    });
    this.#sends.set(place, found);
    return found;
  }

  /**
   * In the order in which they came. What a device's key of platform ids hides is not told an hour later where it is not configured here:
   * such a change has another id, and no ids of the network. Until then throws `UnknownKeyError`.
   */
  async describe(
    address: DeviceAddress,
    send: SendRecord,
    { changes, atMs }: { changes: readonly RecipientChange[]; atMs: number },
  ): Promise<ChangeData[]> {
    const [ids, numbers] = await Promise.all([this.#idsOf(address, atMs), this.#numbersOf(address, send, changes)]);
    const { messageId, requestId, kind, tag, parts } = send;
    const short = parseMessageId(messageId)!.shortDeviceId;
    const at = new Date(atMs).toISOString();
    const indices = changes.map(({ index }) => index);
    const made = ids?.makeAll(send, indices) ?? [];
    return changes.map(({ index, status, errorCode }, i) => {
      const platformMessageIds = made.slice(i * parts, (i + 1) * parts);
      const [first] = platformMessageIds;
      return {
        id: first ? `evt_${short}_${first.slice(4)}_${status}` : keylessId(short, tag, { index, status }),
        device: address.device,
        messageId,
        requestId,
        kind,
        index,
        to: numbers[i] ?? null,
        status,
        error: recipientErrorName(errorCode) ?? null,
        at,
        platformMessageIds,
      };
    });
  }

  async #idsOf(address: DeviceAddress, atMs: number): Promise<PlatformIds | undefined> {
    const place = `${address.workspace}/${address.device}`;
    const known = this.#ids.get(place) ?? readIdKey(this.store, address).then((key) => key && platformIds(key));
    this.#ids.set(place, known);
    try {
      return await known;
    } catch (thrown) {
      if (isToldWithoutKey(thrown, atMs)) return undefined;
      throw thrown;
    }
  }

  /** Of each change. A person who was forgotten has none there. */
  async #numbersOf(
    address: DeviceAddress,
    send: SendRecord,
    changes: readonly RecipientChange[],
  ): Promise<(string | undefined)[]> {
    const wanted = [...new Set(changes.map(({ index }) => blockOf(index)))];
    const blocks = new Map(
      await Promise.all(wanted.map(async (block) => [block, await this.#placesOf(address, send, block)] as const)),
    );
    return changes.map(({ index }) =>
      index < send.total ? unpackNumber(blocks.get(blockOf(index))!, index % BLOCK) : undefined,
    );
  }

  #placesOf(address: DeviceAddress, { tag }: SendRecord, block: number): Promise<Buffer> {
    const place = `${placeOf(address, tag)}/${block}`;
    const known =
      this.#blocks.get(place) ?? readPlaces(this.store, address, { tag, from: block * BLOCK, limit: BLOCK });
    this.#blocks.set(place, known);
    return known;
  }
}

const blockOf = (index: number) => Math.floor(index / BLOCK);
const placeOf = ({ workspace, device }: DeviceAddress, tag: SendTag) => `${workspace}/${device}/${tag}`;

import type { RecipientChange } from '@gateway/contracts/events/entry';
import type { ChangeData } from '@gateway/contracts/events/events';
import { type DeviceAddress, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import { type PlatformIds, platformIds } from '@gateway/contracts/sends/platform-id';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import type { Store } from '../core/store.js';
import { readIdKey } from '../devices/devices.js';
import { readRecipients, readRecord, type SendRecord } from '../sends/read-send.js';

/** Recipients that are looked up together. */
const BLOCK = 128;

/** What entries say by index, looked up: of each send and of each device once. */
export class SendsOfEvents {
  readonly #sends = new Map<string, Promise<SendRecord | undefined>>();
  readonly #ids = new Map<string, Promise<PlatformIds | undefined>>();
  readonly #blocks = new Map<string, Promise<readonly RecipientView[]>>();

  constructor(private readonly store: Store) {}

  /** `undefined` for one that is gone. Throws `UnknownVersionError` for one that only another version can read: that one tells of it. */
  find(address: DeviceAddress, tag: SendTag): Promise<SendRecord | undefined> {
    const place = `${address.workspace}/${address.device}/${tag}`;
    const known = this.#sends.get(place);
    if (known) return known;
    const found = readRecord(this.store, address, tag);
    this.#sends.set(place, found);
    return found;
  }

  /** In the order in which they came. */
  async describe(
    address: DeviceAddress,
    send: SendRecord,
    { changes, atMs }: { changes: readonly RecipientChange[]; atMs: number },
  ): Promise<ChangeData[]> {
    const [ids, numbers] = await Promise.all([this.#idsOf(address), this.#numbersOf(address, send, changes)]);
    const short = parseMessageId(send.messageId)!.shortDeviceId;
    const at = new Date(atMs).toISOString();
    const made = ids ? ids.makeAll(changes.flatMap(({ index }) => partsOf(send, index))) : [];
    return changes.map(({ index, status, errorCode }, i) => {
      const parts = made.slice(i * send.parts, (i + 1) * send.parts);
      return {
        id: `evt_${short}_${parts[0]?.slice(4) ?? `${send.tag}${index}`}_${status}`,
        ...{ device: address.device, messageId: send.messageId, requestId: send.requestId, kind: send.kind, index },
        ...{ to: numbers[i] ?? null, status, error: recipientErrorName(errorCode) ?? null },
        ...{ at, platformMessageIds: parts },
      };
    });
  }

  #idsOf(address: DeviceAddress): Promise<PlatformIds | undefined> {
    const place = `${address.workspace}/${address.device}`;
    const known = this.#ids.get(place) ?? readIdKey(this.store, address).then((key) => key && platformIds(key));
    this.#ids.set(place, known);
    return known;
  }

  /** Of each change. A person who was forgotten has no digits there. */
  async #numbersOf(
    address: DeviceAddress,
    send: SendRecord,
    changes: readonly RecipientChange[],
  ): Promise<(string | undefined)[]> {
    const wanted = [...new Set(changes.map(({ index }) => Math.floor(index / BLOCK)))];
    const blocks = new Map(
      await Promise.all(wanted.map(async (block) => [block, await this.#blockOf(address, send, block)] as const)),
    );
    return changes.map(({ index }) => {
      const { to = '' } = blocks.get(Math.floor(index / BLOCK))![index % BLOCK] ?? {};
      return /^\d+$/.test(to) ? to : undefined;
    });
  }

  /** Changes that come after each other are of people close to each other. */
  #blockOf(address: DeviceAddress, { tag }: SendRecord, block: number): Promise<readonly RecipientView[]> {
    const place = `${address.workspace}/${address.device}/${tag}/${block}`;
    const known =
      this.#blocks.get(place) ?? readRecipients(this.store, address, tag, { from: block * BLOCK, limit: BLOCK });
    this.#blocks.set(place, known);
    return known;
  }
}

const partsOf = ({ tag, parts }: SendRecord, recipient: number) =>
  Array.from({ length: parts }, (_, part) => ({ tag, recipient, part }));

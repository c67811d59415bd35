import type { RecipientChange } from '@gateway/contracts/events/entry';
import type { ChangeData } from '@gateway/contracts/events/events';
import { type DeviceAddress, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { type PlatformIds, platformIds } from '@gateway/contracts/sends/platform-id';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import type { Store } from '../core/store.js';
import { readIdKey } from '../devices/devices.js';
import { readRecipients, readRecord, type SendRecord } from '../sends/read-send.js';

/** What entries say by index, looked up: of each send and of each device once. */
export class SendsOfEvents {
  readonly #sends = new Map<string, Promise<SendRecord | undefined>>();
  readonly #ids = new Map<string, Promise<PlatformIds | undefined>>();

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
    return changes.map(({ index, status, errorCode }) => {
      const parts = ids
        ? Array.from({ length: send.parts }, (_, part) => ids.make({ tag: send.tag, recipient: index, part }))
        : [];
      return {
        id: `evt_${short}_${parts[0]?.slice(4) ?? `${send.tag}${index}`}_${status}`,
        ...{ messageId: send.messageId, requestId: send.requestId, kind: send.kind, index },
        ...{ to: numbers.get(index) ?? null, status, error: recipientErrorName(errorCode) ?? null },
        ...{ at: new Date(atMs).toISOString(), platformMessageIds: parts },
      };
    });
  }

  #idsOf(address: DeviceAddress): Promise<PlatformIds | undefined> {
    const place = `${address.workspace}/${address.device}`;
    const known = this.#ids.get(place) ?? readIdKey(this.store, address).then((key) => key && platformIds(key));
    this.#ids.set(place, known);
    return known;
  }

  async #numbersOf(
    address: DeviceAddress,
    { tag }: SendRecord,
    changes: readonly RecipientChange[],
  ): Promise<Map<number, string>> {
    const indices = changes.map(({ index }) => index);
    const from = Math.min(...indices);
    const rows = await readRecipients(this.store, address, tag, { from, limit: Math.max(...indices) - from + 1 });
    // A person who was forgotten has no digits there.
    return new Map(rows.filter(({ to }) => /^\d+$/.test(to)).map(({ index, to }) => [index, to]));
  }
}

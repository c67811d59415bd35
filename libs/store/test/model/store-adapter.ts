import { type DeviceAddress, type MessageId, nameOfDevice, parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys, shardKeys } from '@gateway/contracts/redis-keys';
import { unpackHead } from '@gateway/contracts/sends/packed-send';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { HEAD_RANGE } from '@gateway/contracts/sends/send-layout';
import { shardOf } from '@gateway/contracts/shards';
import { FencedError } from '@gateway/runtime/errors';
import { scanKeys } from '@gateway/runtime/redis/scan-keys';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { ensureDevice, readDevice } from '@gateway/store/devices/devices';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import { takeAccount } from '@gateway/store/devices/take-account';
import type { Ownership } from '@gateway/store/fleet/ownership';
import {
  acceptSend,
  acceptSendOnce,
  OtherAccountError,
  SendsFullError,
} from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, claimRecipient, forgetRecipient, recordResults } from '@gateway/store/sends/change-send';
import { type DueEntry, listDue, serveDue } from '@gateway/store/sends/due/due-entries';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { readContent, readRecipients, readSend } from '@gateway/store/sends/read-send';
import { addOptOuts, countOptOuts, findOptedOut, listOptOuts, removeOptOut } from '@gateway/store/workspace/opt-outs';
import { endSessionOf, giveDeviceBack, renewSessionOf, sessionKeyOf, takeDevice } from '@gateway/testkit/ownership';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { takeInSend } from '@gateway/testkit/sends/take-in-send';
import { type ModelEvent, PEOPLE, type Reply, TTL_STEP_MS } from './events.js';
import type { RecipientView, SendView, Snapshot } from './snapshot.js';
import { KEY_OWNER, UsedKeys } from './used-keys.js';

const LASTING =
  /:(device|owner|epoch|backlog|devices|short-device-ids|opt-out-count|opt-out-buckets|opt-outs:\d+|totals|totals:errors)$/;
type EventName = ModelEvent['do'];
/** What changes what, if it is not said by the event itself. At the end of a sequence everything is looked at. */
const CHANGES: Record<'sends' | 'account' | 'optedOut' | 'keys', readonly EventName[]> = {
  sends: ['pass', 'accept', 'expire', 'takeAccount'],
  account: ['takeAccount', 'logOut'],
  optedOut: ['optOut', 'optIn'],
  keys: [
    ...(['pass', 'accept'] as const),
    ...(['claimKey', 'releaseKey', 'lapseKey', 'answerKey', 'freeKey'] as const),
  ],
};
/** Shown in place of a number that was taken out. */
const FORGOTTEN = 'forgotten';
const phoneOf = (person: number) => `491511234567${person}`;
const PHONES = Array.from({ length: PEOPLE }, (_, person) => phoneOf(person));
const accountOf = (account: number) => `4917000000${account}`;

/**
 * The device of a sequence in a real store: carries out events by the functions that the services call, and looks at what
 * is there. All that the model test knows of keys and scripts is in this file and in `used-keys.ts`.
 */
export class StoreAdapter {
  private readonly startMs = Date.now();
  private nowMs = this.startMs;
  private readonly sends: MessageId[] = [];
  private readonly ownerships: Ownership[] = [];
  private readonly keys: UsedKeys;
  private last: Snapshot | undefined;

  private constructor(
    private readonly store: Store,
    private readonly address: DeviceAddress,
  ) {
    this.keys = new UsedKeys(store, address, this.sends);
  }

  static async open(store: Store, address: DeviceAddress): Promise<StoreAdapter> {
    await ensureDevice(store, address);
    return new StoreAdapter(store, address);
  }

  async carryOut(event: ModelEvent): Promise<Reply> {
    try {
      return await this.act(event);
    } catch (thrown) {
      if (thrown instanceof FencedError) return 'fenced';
      if (thrown instanceof SendsFullError) return 'full';
      if (thrown instanceof OtherAccountError) return 'otherAccount';
      throw thrown;
    }
  }

  private async act(event: ModelEvent): Promise<Reply> {
    const { store, address, nowMs } = this;
    const ownership = 'ownership' in event ? this.ownerships.at(-1 - event.ownership)! : undefined;
    const messageId = 'send' in event ? this.sends[event.send]! : '';
    const tag = messageId && tagOf(messageId);
    switch (event.do) {
      case 'pass':
        return this.pass(event.ms);
      case 'acquire': {
        const taken = await takeDevice(store, address, { owner: 'a', ttlMs: event.ttlMs });
        if (taken) this.ownerships.push(taken);
        return taken?.epoch;
      }
      case 'renew':
        return (await renewSessionOf(store, ownership!, event.ttlMs)) && (await this.readToken()) === ownership!.token;
      case 'release':
        return giveDeviceBack(store, ownership!);
      case 'lapse':
        if (this.ownerships.length > 0) await endSessionOf(store, this.ownerships.at(-1)!);
        return undefined;
      case 'accept':
        return this.accept(event);
      case 'takeIn':
        return this.takeIn(ownership!, tag);
      case 'claim':
        return claimRecipient(store, ownership!, { tag, recipient: event.recipient, part: event.part, nowMs });
      case 'report':
        return recordResults(store, ownership!, { tag, nowMs, events: event.news });
      case 'cancel':
        return (await cancelSend(store, address, messageId, { nowMs }))?.cancelled;
      case 'expire':
        return event.by === 'steward' ? this.serveDue() : this.indexesOf(await expireSends(store, { address }, nowMs));
      case 'forgetPerson':
        return forgetRecipient(store, address, tag, phoneOf(event.person), nowMs);
      case 'takeAccount':
        return (await takeAccount(store, ownership!, { phone: accountOf(event.account), nowMs })).isOther;
      case 'logOut':
        return retireKeys(store, ownership!, { quarantine: true });
      case 'optOut':
        await addOptOuts(store, address.workspace, { numbers: [phoneOf(event.person)], source: 'api', atMs: nowMs });
        return undefined;
      case 'optIn':
        return removeOptOut(store, address.workspace, phoneOf(event.person));
      case 'dropOptedOut':
        return this.dropOptedOut(ownership!, tag);
      default:
        return this.keys.act(event);
    }
  }

  /** Redis goes by its own clock: what would have died by now is removed here. */
  private async pass(ms: number): Promise<void> {
    const { redis } = this.store;
    this.nowMs += ms;
    const ofSends = this.sends.flatMap((id) => this.keysOf(id));
    const diesAt = await Promise.all(ofSends.map((key) => redis.pexpiretime(key)));
    const dead = ofSends.filter((_, i) => diesAt[i]! >= 0 && diesAt[i]! <= this.nowMs);
    await Promise.all([...dead, ...this.keys.endedBy(this.nowMs)].map((key) => redis.unlink(key)));
  }

  private async accept(event: Extract<ModelEvent, { do: 'accept' }>): Promise<Reply> {
    const { store, address, nowMs } = this;
    const { accountEpoch } = await readDeviceState(store, address);
    const send = {
      accountEpoch: event.isLate ? accountEpoch + 1 : accountEpoch,
      ...{ kind: event.kind, content: { kind: 'text', text: 'hello' } as const, parts: event.parts },
      ...{ recipients: event.people.map(phoneOf), owner: KEY_OWNER, requestId: 'r', nowMs },
      expiresAtMs: nowMs + event.expiresInMs,
      ...(event.room === 'none' && { quotaBytes: 1 }),
    };
    const used = event.key === undefined ? undefined : await this.keys.find(event.key);
    const repeat = used && { key: used.key, fingerprint: Buffer.from('same'), answer: { n: 0 } };
    const accepted = repeat
      ? await acceptSendOnce(store, address, send, repeat)
      : await acceptSend(store, address, send);
    if (!accepted) return 'repeat';
    if (this.sends.includes(accepted.messageId)) throw new Error('a message id was given out a second time');
    if (used) used.acceptedAtMs = nowMs;
    return { send: this.sends.push(accepted.messageId) - 1, forgotten: accepted.forgotten };
  }

  private async takeIn(ownership: Ownership, tag: string): Promise<Reply> {
    const taken = await takeInSend(this.store, ownership, { tag, nowMs: this.nowMs });
    if (!taken) return undefined;
    if (taken.stored instanceof Error) throw taken.stored;
    return { statuses: taken.recipients.map(({ status }) => status), hasContent: taken.stored !== undefined };
  }

  /** As the steward of its shard, but for this device alone. */
  private async serveDue(): Promise<number[]> {
    const { store, nowMs } = this;
    const expired: MessageId[] = [];
    for (const entry of await this.listDue(nowMs)) {
      const served = await serveDue(store, entry, nowMs);
      if (served.kind === 'expired') expired.push(this.sends.find((id) => tagOf(id) === entry.tag)!);
    }
    return this.indexesOf(expired);
  }

  private async listDue(nowMs: number): Promise<DueEntry[]> {
    const entries = await listDue(this.store, shardOf(this.address), { untilMs: nowMs, limit: 1_000_000 });
    return entries.filter(({ address }) => nameOfDevice(address) === nameOfDevice(this.address));
  }

  private indexesOf(messageIds: readonly MessageId[]): number[] {
    return messageIds.map((id) => this.sends.indexOf(id)).sort((a, b) => a - b);
  }

  private async dropOptedOut(ownership: Ownership, tag: string): Promise<Reply> {
    const { store, address, nowMs } = this;
    const recipients = await readRecipients(store, address, tag, { from: 0, limit: PEOPLE });
    const queued = recipients.filter(({ status, to }) => status === 'queued' && to !== FORGOTTEN);
    const optedOut = await findOptedOut(
      store,
      address.workspace,
      queued.map(({ to }) => to),
    );
    const events = queued
      .filter(({ to }) => optedOut.has(to))
      .map(({ index }) => ({
        ...{ recipient: index, part: 0, event: 'failed' as const },
        errorCode: ownErrorCode('recipient_opted_out'),
      }));
    return recordResults(store, ownership, { tag, nowMs, events });
  }

  private keysOf(messageId: MessageId): string[] {
    const { record, content } = sendKeys(this.store.space, this.address, tagOf(messageId));
    return [record, content];
  }

  /** @param after without it at everything; else at what the event may have changed, to save time. */
  async look({ after }: { after?: ModelEvent } = {}): Promise<Snapshot> {
    const { store, address, last } = this;
    const { redis } = store;
    const token = await this.readToken();
    const [ttlMs, { waitingMessages }, open, due, account, optedOut, ofKeys, sends] = await Promise.all([
      token === null ? 0 : redis.pttl(sessionKeyOf(store, { address, token })),
      readDeviceState(store, address),
      this.readOpen(),
      this.readDue(),
      mayChange('account', after) ? this.lookAtAccount() : last?.account,
      mayChange('optedOut', after) ? this.lookAtOptOuts() : last!.optedOut,
      mayChange('keys', after) ? this.keys.look() : last!.keys,
      Promise.all(this.sends.map((id, i) => (mayChangeSend(i, after) ? this.lookAtSend(id) : last!.sends[i]!))),
    ]);
    this.last = {
      // An owner whose session has ended (-2) is none.
      ownership: token === null || ttlMs < 0 ? undefined : { number: numberOf(token), ttlMs: roundUp(ttlMs) },
      nowMs: this.nowMs - this.startMs,
      ...{ account, backlog: waitingMessages, open, due, sends, keys: ofKeys, optedOut },
    };
    return this.last;
  }

  private readToken(): Promise<string | null> {
    return this.store.redis.get(deviceKeys(this.store.space, this.address).owner);
  }

  private async lookAtAccount(): Promise<number | undefined> {
    const account = (await readDevice(this.store, this.address))?.account;
    return account === undefined ? undefined : Number(account.at(-1));
  }

  private async lookAtOptOuts(): Promise<number[]> {
    const { workspace } = this.address;
    const [found, listed, count] = await Promise.all([
      findOptedOut(this.store, workspace, PHONES),
      listOptOuts(this.store, workspace, { limit: PEOPLE + 1 }),
      countOptOuts(this.store, workspace),
    ]);
    const isSame = count === found.size && listed.length === found.size;
    if (!isSame) throw new Error('the list of opt-outs, its count, and what is found in it differ');
    return PHONES.flatMap((phone, person) => (found.has(phone) ? [person] : []));
  }

  /** Sends that are due at their expiry, or before. */
  private async readDue(): Promise<number[]> {
    const { store, address } = this;
    const { due } = shardKeys(store.space, shardOf(address));
    const [flat, open] = await Promise.all([store.redis.zrange(due, '0', '-1', 'WITHSCORES'), this.readOpen()]);
    return this.sends.flatMap((messageId, send) => {
      const at = flat.indexOf(`${nameOfDevice(address)}/${tagOf(messageId)}`);
      return at >= 0 && Number(flat[at + 1]) - this.startMs <= open[send]! ? [send] : [];
    });
  }

  /** When the open sends expire. */
  private async readOpen(): Promise<Record<number, number>> {
    const { store, address } = this;
    const open = await listOpenSends(store, address);
    const times = open.map(async (messageId) => {
      const head = await store.redis.getrangeBuffer(this.keysOf(messageId)[0]!, HEAD_RANGE.start, HEAD_RANGE.end);
      return [this.sends.indexOf(messageId), unpackHead(head).expiresAtMs - this.startMs] as const;
    });
    return Object.fromEntries(await Promise.all(times));
  }

  private async lookAtSend(messageId: MessageId): Promise<SendView | 'gone'> {
    const { store, address } = this;
    const tag = tagOf(messageId);
    const [send, recipients, stored, diesAt = -2, contentDiesAt = -2] = await Promise.all([
      readSend(store, address, messageId),
      readRecipients(store, address, tag, { from: 0, limit: PEOPLE }),
      readContent(store, address, tag),
      ...this.keysOf(messageId).map((key) => store.redis.pexpiretime(key)),
    ]);
    if (!send) {
      if (diesAt !== -2 || contentDiesAt !== -2) throw new Error('a part of a send is left without its record');
      return 'gone';
    }
    const since = <Time extends number | undefined>(ms: Time) =>
      (ms === undefined ? undefined : ms - this.startMs) as Time;
    const { state: stage, kind, total, parts, counts } = send;
    return {
      ...{ stage, kind, total, parts, counts },
      createdAtMs: since(send.createdAtMs),
      expiresAtMs: since(send.expiresAtMs),
      cancelledAtMs: since(send.cancelledAtMs),
      sentAtMs: since(send.sentAtMs),
      contentDiesAtMs: stored && since(contentDiesAt),
      diesAtMs: diesAt < 0 ? 'never' : since(diesAt),
      recipients: recipients.map(
        ({ to, status, attempts, partsInFlight, partsAcked, partsInDoubt, errorCode, atMs }): RecipientView => ({
          ...{ person: to === FORGOTTEN ? 'forgotten' : Number(to.at(-1)), status, attempts },
          ...{ inFlight: partsInFlight, accepted: partsAcked, inDoubt: partsInDoubt, error: errorCode },
          atMs: since(atMs),
        }),
      ),
    };
  }
}

/** Keys that never die, other than those that a device, a workspace and its list of opt-outs have once each. */
export async function findKeysLeft({ redis, space }: Store): Promise<string[]> {
  const left: string[] = [];
  for await (const keys of scanKeys(redis, { match: `${space.prefix}:*`, count: 1_000 })) {
    const ttls = await Promise.all(keys.map((key) => redis.pttl(key)));
    left.push(...keys.filter((key, i) => ttls[i] === -1 && !LASTING.test(key)));
  }
  return left;
}

function mayChange(what: keyof typeof CHANGES, after: ModelEvent | undefined): boolean {
  return !after || CHANGES[what].includes(after.do);
}

function mayChangeSend(send: number, after: ModelEvent | undefined): boolean {
  return after && 'send' in after ? after.send === send : mayChange('sends', after);
}

function tagOf(messageId: MessageId): string {
  return parseMessageId(messageId)!.tag;
}

function numberOf(token: string): number {
  return Number(token.slice(token.lastIndexOf(':') + 1));
}

function roundUp(ttlMs: number): number {
  return Math.ceil(ttlMs / TTL_STEP_MS) * TTL_STEP_MS;
}

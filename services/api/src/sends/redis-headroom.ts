import type { DeviceAddress, Workspace } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { SHARDS, shardOf } from '@gateway/contracts/shards';
import { Shares } from '@gateway/runtime/bytes/shares';
import { type Clock, inTime, sleep } from '@gateway/runtime/clock';
import { type Deferred, defer } from '@gateway/runtime/deferred';
import { ApiError, GatewayError } from '@gateway/runtime/errors';
import type { Capacity, Room } from '@gateway/store/core/capacity';
import { type BacklogUse, TAKEN_PART_MS, type TakenBacklog } from '@gateway/store/limits/take-backlog';

/**
 * Requests are refused beyond these shares of `maxmemory`: of what is used, and of that together with what accepted
 * recipients will need. The rest is for accepted work, and between the two for small, urgent data: one-time passwords,
 * opt-outs, a new link. Small sends are not refused for the sake of lists that wait.
 */
const MARKS = {
  list: { used: 0.85, promised: 0.85 },
  small: { used: 0.85, promised: 0.95 },
  urgent: { used: 0.95, promised: 0.95 },
} as const;
export type RoomUse = keyof typeof MARKS;

const FILE_SHARE = 0.1;
/** Of the sends of one token at a device, those that have ended included. */
const SENDS_SHARE = 0.2;
/** Of the messages that might wait without its own, for the lists of one workspace; `acceptSend` has the shares of tokens and devices. */
const WORKSPACE_SHARE = 0.5;

/**
 * The keys of a first message to a person (session, identity, pair of names, token), in Redis. Which recipients are known
 * already is not checked: it would take a lookup in the network.
 */
const STRANGER_BYTES = 1_400;
const FRESH_MS = 2_000;
/** So long a request waits for a newer answer at most, where there is one to go on with. Redis answers in a few ms: it is for a node that hangs. */
const PATIENCE_MS = 100;
/**
 * What is known is gone on with until then: for as long as it is fresh, and then for the longest that an answer takes while a node hangs, with
 * some to spare. It must be less than the ten seconds for which `take-backlog` knows what others took.
 */
const KNOWN_MS = 5_000;
/** A node that was away is asked again so soon where its devices are concerned: it may have stood still for a moment only. */
const AWAY_MS = 500;

/** A question to Redis, for all who come while it is fresh. */
interface Look {
  atMs: number;
  answer: Promise<unknown>;
  /** When that is there, or patience is over. */
  soon: Promise<unknown>;
}

/** Messages that this process took, until Redis is known to count them. */
interface Taken {
  address: DeviceAddress;
  messages: number;
  isWritten: boolean;
  /** Where the operator limits them. */
  ofWorkspace?: TakenBacklog | undefined;
  /** Resolves when it is, or will not be. */
  over: Deferred<void>;
}

/** What a send is, as far as its room goes. One-time passwords are `urgent`. */
export function roomUseOf(recipients: number): RoomUse {
  return recipients <= LIMITS.smallSendRecipients ? 'small' : 'list';
}

/**
 * Whether Redis has room for more, now and when all accepted messages are sent: on a Cluster the node of the device, and for what
 * belongs to no device the fullest one. Asks Redis every two seconds at most, for any number of callers; what this process accepts
 * in between is counted at once. While a node hangs, requests that do not need it do not wait for it: what was known holds on until the
 * others have answered.
 */
export class RedisHeadroom {
  readonly #read: (known: Capacity | undefined, inUse: readonly Workspace[]) => Promise<Capacity>;
  readonly #clock: Clock;
  readonly #takeBacklog: (use: BacklogUse) => Promise<TakenBacklog | undefined>;
  #look: Look | undefined;
  /** A second answer, before its time, for a workspace. */
  readonly #again = new Map<Workspace, Promise<unknown>>();
  /** The answer that names a workspace which the one before did not. */
  readonly #byName = new Map<Workspace, Promise<unknown>>();
  /** Workspaces that have asked since Redis was. */
  readonly #inUse = new Set<Workspace>();
  #known: Capacity | undefined;
  /** Of which moment, by the clock of all processes. */
  #knownAtMs = 0;
  /** The same moment by the monotonic clock of this process. */
  #knownSinceMs = 0;
  readonly #taken = new Set<Taken>();
  /** Messages of these, by workspace: in each shard, and in all of them. */
  readonly #unseen = Array.from({ length: SHARDS }, () => new Shares());
  readonly #unseenInAll = new Shares();

  /**
   * @param read is given its last answer: what lies on a node that is away is as it was; and the workspaces that have asked since.
   * @param takeBacklog counts what all processes take in a workspace that has a limit. Default: this is the only one.
   */
  constructor(
    read: (known: Capacity | undefined, inUse: readonly Workspace[]) => Promise<Capacity>,
    clock: Clock,
    takeBacklog: (use: BacklogUse) => Promise<TakenBacklog | undefined> = async () => ({ settle: async () => {} }),
  ) {
    this.#read = read;
    this.#clock = clock;
    this.#takeBacklog = takeBacklog;
  }

  /** Bytes by the last answer of Redis, including the future need of accepted recipients. */
  get known(): (Capacity & { promisedBytes: number }) | undefined {
    return this.#known && { ...this.#known, promisedBytes: sum(this.#known.queuedMessages.values()) * STRANGER_BYTES };
  }

  /** Whether there is room for that many messages. Rejects when Redis does not answer. @param address of their device. */
  async hasRoom(use: RoomUse, messages = 0, address?: DeviceAddress): Promise<boolean> {
    return this.#fits(roomFor(await this.#capacity(address), address), use, messages);
  }

  /** The same, or 503. */
  async refuseWithoutRoom(use: RoomUse, messages = 0, address?: DeviceAddress): Promise<void> {
    if (!(await this.hasRoom(use, messages, address))) throw noRoom();
  }

  /**
   * The same for messages that `write` writes down: they count from now on, unless it throws an `ApiError`. 503 also for a
   * list when messages of its workspace have their share, and for all but one-time passwords beyond what its operator allows it.
   * @param write is told how many more messages have room; 0 where Redis has no `maxmemory`.
   */
  async take<T>(
    { use, messages, address }: { use: RoomUse; messages: number; address: DeviceAddress },
    write: (freeMessages: number) => Promise<T>,
  ): Promise<T> {
    const asked = { use, messages, address };
    const reserved =
      (await this.#reserve(asked)) ?? (await this.#askAgain(address.workspace).then(() => this.#reserve(asked)));
    if (!reserved) throw noRoom();
    const { taken, freeMessages } = reserved;
    let isRefused = false;
    try {
      return await write(freeMessages);
    } catch (thrown) {
      isRefused = thrown instanceof ApiError;
      if (isRefused) this.#forget(taken);
      throw thrown;
    } finally {
      taken.isWritten = true;
      // Not awaited: it counts for some seconds more where this is lost.
      taken.ofWorkspace?.settle({ nowMs: this.#clock.nowMs(), isRefused }).catch(() => {});
      taken.over.resolve();
    }
  }

  /** `undefined`, and nothing is counted, where other processes have taken too many of the workspace, as far as this one knows. */
  async #reserve({ use, messages, address }: { use: RoomUse; messages: number; address: DeviceAddress }) {
    // What is urgent is not bound by what the operator allows the workspace.
    const capacity = use === 'urgent' ? await this.#capacity(address) : await this.#capacityWith(address);
    // Looked at and counted in one turn: of requests that come together, each sees those before it.
    const room = roomFor(capacity, address);
    if (!this.#fits(room, use, messages)) throw noRoom();
    const { workspace } = address;
    const free = room.limitBytes === 0 ? 0 : this.#freeMessages(room, use);
    if (room.limitBytes > 0 && use === 'list') {
      const ofWorkspace = this.#promised(room, workspace);
      if (ofWorkspace + messages > (free + ofWorkspace) * WORKSPACE_SHARE) throw noRoom();
    }
    const most = capacity.backlogLimits?.get(workspace);
    const isBounded = most !== undefined && use !== 'urgent';
    if (isBounded && this.#promised(capacity, workspace) + messages > most) throw noRoom();
    const taken: Taken = { address, messages, isWritten: false, over: defer() };
    this.#taken.add(taken);
    this.#count(address, messages);
    const isFree = !isBounded || (await this.#takeOfWorkspace(taken, most));
    return isFree ? { taken, freeMessages: Math.ceil(free) } : undefined;
  }

  /** What other processes have taken since each of them looked counts, too. */
  async #takeOfWorkspace(taken: Taken, most: number): Promise<boolean> {
    const { address, messages } = taken;
    const room = most - (this.#known?.queuedMessages.get(address.workspace) ?? 0);
    const use = {
      workspace: address.workspace,
      messages,
      room,
      knownAtMs: this.#knownAtMs,
      nowMs: this.#clock.nowMs(),
    };
    try {
      taken.ofWorkspace = await this.#takeBacklog(use);
      return taken.ofWorkspace !== undefined;
    } finally {
      if (!taken.ofWorkspace) this.#forget(taken);
    }
  }

  /**
   * What others wrote while this one asked counts twice: it asks once more before it refuses, when its own is written, too. What waits for
   * that is not counted: there may be room for less.
   */
  #askAgain(workspace: Workspace): Promise<unknown> {
    const asked = this.#again.get(workspace) ?? this.#askWhenWritten(workspace);
    this.#again.set(workspace, asked);
    return asked;
  }

  async #askWhenWritten(workspace: Workspace): Promise<void> {
    await sleep(TAKEN_PART_MS);
    const taken = [...this.#taken].filter(({ address }) => address.workspace === workspace);
    await inTime(Promise.all(taken.map(({ over }) => over.promise)), FRESH_MS);
    await this.#ask();
  }

  /** Bytes that the files of a workspace may take together. @param withoutLimit where Redis has no `maxmemory`. */
  async fileQuotaBytes(withoutLimit: number): Promise<number> {
    const { limitBytes } = await this.#capacity();
    return limitBytes === 0 ? withoutLimit : Math.floor(limitBytes * FILE_SHARE);
  }

  /** Bytes that the sends of one token may take at a device; 0 where Redis has no `maxmemory`, and it does not matter. */
  async sendQuotaBytes(): Promise<number> {
    return Math.floor((await this.#capacity()).limitBytes * SENDS_SHARE);
  }

  #fits(room: Room, use: RoomUse, messages: number): boolean {
    const { usedBytes, limitBytes } = room;
    if (limitBytes === 0) return true;
    return usedBytes < limitBytes * MARKS[use].used && messages < this.#freeMessages(room, use);
  }

  #freeMessages(room: Room, use: RoomUse): number {
    const roomBytes = room.limitBytes * MARKS[use].promised - room.usedBytes;
    return roomBytes / STRANGER_BYTES - this.#promised(room);
  }

  /** Messages that wait there, of one workspace or of all. */
  #promised(room: Room, workspace?: Workspace): number {
    const ofShards = this.#known?.ofShards;
    // The fullest node counts with all that waits: what belongs to no device may lie on any.
    const isOfNode = ofShards?.includes(room);
    const unseen = isOfNode ? this.#unseen.filter((_, shard) => ofShards?.[shard] === room) : [this.#unseenInAll];
    if (workspace === undefined) return sum(room.queuedMessages.values()) + sum(unseen.map(({ all }) => all));
    return (room.queuedMessages.get(workspace) ?? 0) + sum(unseen.map((shares) => shares.of(workspace)));
  }

  #count(address: DeviceAddress, messages: number): void {
    this.#unseen[shardOf(address)]!.add(address.workspace, messages);
    this.#unseenInAll.add(address.workspace, messages);
  }

  #forget(taken: Taken): void {
    const { address, messages } = taken;
    if (this.#taken.delete(taken)) this.#count(address, -messages);
    taken.over.resolve();
  }

  /**
   * With the limit of this workspace: one that is new, or whose list lies on a node that is away since this process began, is asked about by
   * name. Throws where its own node is away since then: its limit is not known.
   */
  async #capacityWith(address: DeviceAddress): Promise<Capacity> {
    const { workspace } = address;
    this.#inUse.add(workspace);
    const capacity = await this.#capacity(address);
    if (isNamed(capacity, workspace)) return capacity;
    const asked = this.#byName.get(workspace) ?? this.#ask();
    this.#byName.set(workspace, asked);
    await asked;
    if (!isNamed(this.#known!, workspace)) throw away('the node of a workspace is away');
    return this.#known!;
  }

  /** The newest that is known. Where a node was away on which a device is: that of a moment ago. */
  async #capacity(address?: DeviceAddress): Promise<Capacity> {
    const look = this.#lookSince(FRESH_MS);
    await look.soon;
    if (this.#clock.monotonicMs() - this.#knownSinceMs >= KNOWN_MS) await look.answer;
    const { ofShards } = this.#known!;
    if (address && ofShards && !ofShards[shardOf(address)]) await this.#lookSince(AWAY_MS).answer;
    return this.#known!;
  }

  #lookSince(agoMs: number): Look {
    const nowMs = this.#clock.monotonicMs();
    if (this.#look && nowMs - this.#look.atMs < agoMs) return this.#look;
    const inUse = [...this.#inUse];
    const answer = this.#ask();
    const soon = this.#known ? inTime(answer, PATIENCE_MS) : answer;
    const look = { atMs: nowMs, answer, soon };
    this.#look = look;
    // Failures are not cached: the next caller asks again.
    soon.catch(() => {});
    answer.catch(() => {
      if (this.#look === look) this.#look = undefined;
    });
    this.#again.clear();
    this.#byName.clear();
    for (const name of inUse) this.#byName.set(name, answer);
    this.#inUse.clear();
    return look;
  }

  async #ask(): Promise<void> {
    const written = [...this.#taken].filter(({ isWritten }) => isWritten);
    const [askedAtMs, sinceMs] = [this.#clock.nowMs(), this.#clock.monotonicMs()];
    const known = await this.#read(this.#known, [...this.#inUse]);
    // Redis counts what was written before it was asked; what was on its way may count twice until it is asked again.
    for (const each of written) this.#forget(each);
    // The answer to a later question may have come before.
    if (this.#known && sinceMs < this.#knownSinceMs) return;
    this.#known = known;
    this.#knownAtMs = askedAtMs;
    this.#knownSinceMs = sinceMs;
  }
}

function isNamed({ workspaces }: Capacity, workspace: Workspace): boolean {
  return !workspaces || workspaces.includes(workspace);
}

/** Throws when the node of the device is away. */
function roomFor(capacity: Capacity, address: DeviceAddress | undefined): Room {
  if (!capacity.ofShards || !address) return capacity;
  const room = capacity.ofShards[shardOf(address)];
  if (!room) throw away('the node of a device is away');
  return room;
}

function away(message: string): GatewayError {
  return new GatewayError({ code: 'redis_away', message });
}

/** 503: room does not come back in seconds. */
export function noRoom(cause?: Error): ApiError {
  return new ApiError('unavailable', { headers: { 'Retry-After': '30' }, ...(cause && { cause }) });
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const each of numbers) total += each;
  return total;
}

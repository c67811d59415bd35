import { type Redis, type RedisOptions, ReplyError, SentinelConnector } from 'ioredis';
import { sleep, systemClock } from '../../clock.js';
import { defer } from '../../deferred.js';
import { toError } from '../../errors.js';
import type { RedisNode } from '../redis-address.js';
import {
  chooseMaster,
  countSentinels,
  isNamedByMost,
  isSame,
  type NamedMaster,
  type SeenAnswers,
  type SentinelAnswer,
} from './choose-master.js';

const SWITCHED = '+switch-master';
/** Said by the one that orders it, before a replica is told. */
const ELECTING = '+try-failover';
/** Among the flags of a master, from then on until that is given up, or all know the next one. */
const IS_ELECTING = /\bfailover_in_progress\b/;
/** One has joined, or has another address; or those that have gone are forgotten. */
const OTHERS_CHANGED = ['+sentinel', '+sentinel-address-switch', '+reset-master'];
/** A listener asks nothing: of a connection whose other end vanished silently it would hear nothing, and for ever. */
const PING_EVERY_MS = 2_000;
/** Among them of one that may be replaced in the next moment. */
const IS_IN_DOUBT = /\b(s_down|o_down|disconnected|failover_in_progress)\b/;
/** It pings the master every second, and holds it for dead only after `down-after-milliseconds`. */
const SILENT_MS = 3_000;
/** Of a question whether the master is the one that most name: those that are cut off never answer. */
const NAMED_MS = 1_000;
/** After the first answer: one that hangs together with its machine is silent, and must not hold up a failover. */
const OTHERS_MS = 500;
/** Questions are rare: whenever a client connects. */
const FORGET_MS = 60 * 60 * 1000;

interface Seen extends SeenAnswers {
  /** When one of them was last heard to put a replica in the place of the master, by the monotonic clock. */
  electionAtMs: number;
  /** How many there are that may agree on another master: one that was reset, and is cut off from the others, knows of none but itself. */
  most: number;
}

/** What we use of that of ioredis, whose types do not show it. */
interface Base {
  options: Required<Pick<RedisOptions, 'sentinelReconnectStrategy'>> & {
    sentinelMaxConnections: number;
    name: string;
    sentinels: RedisNode[];
  };
  sentinelIterator: { sentinels: RedisNode[]; cursor: number };
  failoverDetector: { cleanup(): void } | null;
  /** Until `disconnect`. */
  connecting: boolean;
  connectToSentinel(sentinel: RedisNode, options: RedisOptions): Redis;
  /** Adds those that this one knows. */
  updateSentinels(client: Redis): Promise<void>;
  disconnect(): void;
}

/**
 * Asks all Sentinels for the master, and takes the newest answer. That of ioredis takes the first: one Sentinel that is cut off together
 * with a master would send everyone back to it when the others have replaced it, and what it takes meanwhile is lost.
 *
 * Leaves a master as soon as a Sentinel says that it was replaced, and does not come back because a few do not know that.
 */
abstract class NewestMasterConnector extends (SentinelConnector as unknown as new (options: unknown) => Base) {
  /** By all clients together. */
  protected abstract readonly seen: Seen;
  /** Where it leads to; `undefined` while it asks. */
  private current: NamedMaster | undefined;
  private left: NamedMaster | undefined;
  /** Of the present master. */
  private epoch = 0;
  /** Of the Sentinels that did not answer the last question to all: since when. */
  private silentSinceMs = new Map<RedisNode, number>();
  private readonly listeners = new Map<RedisNode, Redis>();
  /** Those of them whose connections were lost: the first is away for longest. */
  private readonly lost = new Set<RedisNode>();
  /** Those whose orders it may miss, as it only just listens to them, or is about to: since when. */
  private readonly unheardSinceMs = new Map<RedisNode, number>();
  /** How often it was told of another master. */
  private told = 0;

  /** ioredis asks one Sentinel after the other: here the first question is put to all. */
  async resolve(): Promise<RedisNode> {
    const { sentinelIterator, seen } = this;
    this.current = undefined;
    for (;;) {
      const { told } = this;
      const { answers, errors } = await this.askAll();
      // They may have answered before they knew.
      if (told !== this.told) continue;
      const found = chooseMaster(answers, { left: this.left, seen });
      sentinelIterator.cursor = found ? 0 : sentinelIterator.sentinels.length;
      if (!found) throw errors[0] ?? new Error('Sentinels name a master that was replaced');
      this.current = found;
      this.epoch = found.epoch;
      Object.assign(seen, { epoch: found.epoch, sentinels: countSentinels(answers) });
      seen.most = Math.max(seen.most, seen.sentinels);
      for (const answer of answers) this.noteElection(answer);
      return { host: found.host, port: found.port };
    }
  }

  /** Whether most of them, as many as are known, take the server that this leads to for the master. @param isReached see there. */
  async isNamedByMost(isReached: boolean): Promise<boolean> {
    const { current, seen } = this;
    const { answers } = await this.askAll();
    for (const answer of answers) this.compare(answer);
    const count = countSentinels(answers);
    // Fewer only by what more than half of those before say.
    seen.most = new Set(answers.map(({ id }) => id)).size > seen.most / 2 ? count : Math.max(seen.most, count);
    // Where it led to all the while: what was written before was written there.
    const isThere = current !== undefined && this.current === current;
    return isThere && isNamedByMost(answers, current, { sentinels: seen.most, isReached });
  }

  /** Called when the master is connected. */
  async initFailoverDetector(): Promise<void> {
    // It may have been given up meanwhile, and no one would end what is opened now.
    if (!this.connecting) return;
    this.failoverDetector?.cleanup();
    this.failoverDetector = {
      cleanup: () => {
        this.failoverDetector = null;
        for (const sentinel of this.listeners.keys()) this.leaveAlone(sentinel);
      },
    };
    this.listenToNew();
  }

  /** All may be replaced while the connection to the master lasts: those who join are listened to, in place of those who have gone. */
  private listenToNew(): void {
    if (!this.failoverDetector) return;
    const { listeners, lost } = this;
    for (const sentinel of this.sentinelIterator.sentinels) {
      if (listeners.has(sentinel)) continue;
      if (listeners.size >= this.options.sentinelMaxConnections) {
        const [gone] = lost;
        if (!gone) return;
        this.leaveAlone(gone);
      }
      this.listenTo(sentinel);
    }
  }

  private listenTo(sentinel: RedisNode): void {
    const { listeners, lost, unheardSinceMs } = this;
    // We subscribe anew ourselves: no one hears of it where that of ioredis fails, and the process would end.
    const retryStrategy = this.options.sentinelReconnectStrategy;
    const listener = this.connectTo(sentinel, { retryStrategy, autoResubscribe: false });
    const learn = async () => {
      this.compare(await this.ask(sentinel));
      this.listenToNew();
    };
    let connections = 0;
    const listen = async () => {
      const connection = ++connections;
      lost.delete(sentinel);
      await orConnectAgain(listener, listener.subscribe(SWITCHED));
      // It may be forbidden.
      await listener.subscribe(ELECTING, ...OTHERS_CHANGED).catch(() => {});
      // Whenever the connection is there again: what it told before is missed.
      await learn();
      if (connection === connections && !lost.has(sentinel)) unheardSinceMs.delete(sentinel);
    };
    listeners.set(sentinel, listener);
    // One that has just given no answer may be away for long.
    if (!this.silentSinceMs.has(sentinel)) unheardSinceMs.set(sentinel, systemClock.monotonicMs());
    listener.on('message', (channel, text) => {
      if (channel === SWITCHED) this.hear(text);
      else if (channel === ELECTING) this.hearElection(text);
      else void learn().catch(() => {});
    });
    const pings = setInterval(() => {
      if (listeners.get(sentinel) !== listener) clearInterval(pings);
      else if (listener.status === 'ready') void orConnectAgain(listener, listener.ping()).catch(() => {});
    }, PING_EVERY_MS).unref();
    let wasThere = false;
    listener.on('close', () => {
      if (listeners.get(sentinel) !== listener) return;
      lost.add(sentinel);
      // One that cannot be reached again has gone, or is away for long.
      if (wasThere) unheardSinceMs.set(sentinel, systemClock.monotonicMs());
      else unheardSinceMs.delete(sentinel);
      wasThere = false;
    });
    listener.on('ready', () => {
      wasThere = true;
      // One that is listened to and answers no question goes on telling.
      void listen().catch(() => {});
    });
  }

  private leaveAlone(sentinel: RedisNode): void {
    const listener = this.listeners.get(sentinel);
    this.listeners.delete(sentinel);
    this.lost.delete(sentinel);
    this.unheardSinceMs.delete(sentinel);
    listener?.disconnect();
  }

  /** Since when a Sentinel that is about to be listened to may have ordered a failover, the last of them; -Infinity without one. */
  unheardSince(): number {
    return Math.max(...this.unheardSinceMs.values());
  }

  private compare(named: SentinelAnswer): void {
    const { current, epoch, seen } = this;
    if (!current) return;
    if (!isSame(current, named) && named.epoch > epoch) this.leave(current);
    // How many must agree one day that they begin anew.
    if (isSame(current, named) && named.epoch === epoch) seen.sentinels = named.sentinels;
    seen.most = Math.max(seen.most, seen.sentinels);
    this.noteElection(named);
  }

  private hear(text: string): void {
    const [name, oldHost = '', oldPort, host = '', port] = text.split(' ');
    // All of them tell it, some seconds later than the first.
    const isKnown = this.current && isSame(this.current, { host, port: Number(port) });
    if (name === this.options.name && !isKnown) this.leave({ host: oldHost, port: Number(oldPort) });
  }

  /** @param text `master <name> <host> <port>` */
  private hearElection(text: string): void {
    if (text.split(' ')[1] === this.options.name) this.seen.electionAtMs = systemClock.monotonicMs();
  }

  /** One that began while no one listened to that Sentinel. */
  private noteElection({ replacing }: SentinelAnswer): void {
    const { current, seen } = this;
    if (current && replacing && isSame(current, replacing)) seen.electionAtMs = systemClock.monotonicMs();
  }

  private leave({ host, port }: RedisNode): void {
    this.told++;
    this.left = { host, port, epoch: this.epoch };
    if (this.current) this.disconnect();
  }

  /** What they say, and those that they name; why others say nothing. */
  private async askAll(): Promise<{ answers: SentinelAnswer[]; errors: Error[] }> {
    const answers = new Map<RedisNode, SentinelAnswer>();
    const errors: Error[] = [];
    const asked = new Set<RedisNode>();
    const first = defer<void>();
    const askNew = async (): Promise<void> => {
      const others = this.sentinelIterator.sentinels.filter((sentinel) => !asked.has(sentinel));
      for (const sentinel of others) asked.add(sentinel);
      await Promise.all(
        others.map(async (sentinel) => {
          const answer = await this.ask(sentinel).catch(toError);
          if (answer instanceof Error) return void errors.push(answer);
          answers.set(sentinel, answer);
          first.resolve();
          await askNew();
        }),
      );
    };
    await Promise.race([askNew(), first.promise.then(() => sleep(OTHERS_MS))]);
    if (answers.size > 0) this.forgetSilent(answers);
    return { answers: [...answers.values()], errors: [...errors] };
  }

  /** Those that others named, and that have gone. Not at once: one that only was slow may be the one that tells of the next failover. */
  private forgetSilent(answers: ReadonlyMap<RedisNode, unknown>): void {
    const nowMs = systemClock.monotonicMs();
    const { sentinels } = this.sentinelIterator;
    const silent = sentinels.filter((sentinel) => !answers.has(sentinel));
    const sinceMs = new Map(silent.map((sentinel) => [sentinel, this.silentSinceMs.get(sentinel) ?? nowMs]));
    const mayBeBack = ([sentinel, since]: [RedisNode, number]) =>
      nowMs - since < FORGET_MS || this.options.sentinels.includes(sentinel);
    this.silentSinceMs = new Map([...sinceMs].filter(mayBeBack));
    // First those that can be listened to.
    const present = sentinels.filter((sentinel) => answers.has(sentinel));
    this.sentinelIterator.sentinels = [...present, ...this.silentSinceMs.keys()];
  }

  private async ask(sentinel: RedisNode): Promise<SentinelAnswer> {
    const client = this.connectTo(sentinel);
    try {
      const { name } = this.options;
      const questions = ['MASTER', 'GET-MASTER-ADDR-BY-NAME'].map((question) =>
        client.call('SENTINEL', question, name),
      );
      // One that may not be asked for it is known by its address.
      const asked = client.call('SENTINEL', 'MYID').catch(() => `${sentinel.host}:${sentinel.port}`);
      const [fields, [host, port]] = (await Promise.all(questions)) as [string[], [string, string]];
      // What stands in the place of one may leave them out.
      const fieldOf = (field: string) => (fields.includes(field) ? fields[fields.indexOf(field) + 1]! : '');
      const numberOf = (field: string) => Number(fieldOf(field)) || 0;
      const id = String(await asked);
      await this.updateSentinels(client).catch(() => {});
      const epoch = numberOf('config-epoch');
      this.seen.epoch = Math.max(this.seen.epoch, epoch);
      // By its own address: by that of the question it goes by the name of the next one, as soon as that obeys.
      const flags = fieldOf('flags');
      const isInDoubt = IS_IN_DOUBT.test(flags) || numberOf('last-ok-ping-reply') > SILENT_MS;
      const replacing = IS_ELECTING.test(flags) ? { host: fieldOf('ip'), port: numberOf('port') } : undefined;
      const sentinels = numberOf('num-other-sentinels') + 1;
      return { id, host, port: Number(port), epoch, sentinels, replacing, isInDoubt };
    } finally {
      client.disconnect();
    }
  }

  /** Its errors are no news: there are others, and a listener connects again. */
  private connectTo(sentinel: RedisNode, options: RedisOptions = {}): Redis {
    return this.connectToSentinel(sentinel, { ...options, disableClientInfo: true }).on('error', () => {});
  }
}

/**
 * A Sentinel that hangs may answer the next connection; one that forbids it says the same each time. ioredis would wait until the other end
 * has closed the connection, too.
 */
async function orConnectAgain({ stream }: Redis, answer: Promise<unknown>): Promise<void> {
  await answer.catch((thrown: unknown) => {
    if (!(thrown instanceof ReplyError)) stream.destroy();
    throw thrown;
  });
}

/** For the clients of one master: what one of them has heard the others know, too. */
export function newestMaster(): RedisOptions['Connector'] {
  const seen: Seen = { epoch: 0, sentinels: 0, most: 0, electionAtMs: Number.NEGATIVE_INFINITY };
  return class extends NewestMasterConnector {
    protected readonly seen = seen;
  } as unknown as RedisOptions['Connector'];
}

/** Those that a client knows now; none without Sentinels. */
export function sentinelsOf(client: Redis): readonly RedisNode[] {
  return connectorOf(client)?.sentinelIterator?.sentinels ?? [];
}

/** A client of a Cluster has none of its own. */
const connectorOf = (client: Redis) =>
  (client as unknown as { connector?: Partial<Base & NewestMasterConnector> & { seen?: Seen } }).connector;

/**
 * Whether more than half of all Sentinels that are known name the server that a client leads to, and say so in a second. Never without
 * Sentinels. @param options.isReached whether those count alone that find it well themselves.
 */
export async function isNamedByMostSentinels(client: Redis, { isReached = false } = {}): Promise<boolean> {
  const isNamed = connectorOf(client)
    ?.isNamedByMost?.(isReached)
    .catch(() => false);
  return Promise.race([isNamed ?? false, sleep(NAMED_MS).then(() => false)]);
}

/** When it last heard that a replica is put in the place of its master, by the monotonic clock; never without Sentinels. */
export function electionHeardAtMs(client: Redis): number {
  return connectorOf(client)?.seen?.electionAtMs ?? Number.NEGATIVE_INFINITY;
}

/** Since when it may have missed that, as a connection to a Sentinel is only just made or made anew, by the same clock; else never. */
export function unheardSinceMs(client: Redis): number {
  return connectorOf(client)?.unheardSince?.() ?? Number.NEGATIVE_INFINITY;
}

/** Of a client that has ended, which ioredis leaves listening. */
export function leaveSentinels(client: Redis): void {
  (client as unknown as { connector: Base }).connector.failoverDetector?.cleanup();
}

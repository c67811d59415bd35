import type { Redis } from 'ioredis';
import { sleep, systemClock } from '../clock.js';
import { GatewayError, toError } from '../errors.js';
import { isCluster, masterNodes, masterOfKey, refreshMasters } from './redis-nodes.js';
import { isBeingReplaced } from './sentinels/is-being-replaced.js';
import { electionHeardAtMs, unheardSinceMs } from './sentinels/sentinel-connector.js';
import { type Connections, readHistoryId, readServerId, serverOf } from './server-of.js';

/**
 * Resolves once replicas have all that was written in the slot of this key until now.
 * @param writer the connection by which it was written, just now: it must still lead to the server that replicas are asked about.
 * @param since of several writes: the connections before the first one. What was written by another one is not asked about here.
 * @throws `not_confirmed`, and nothing else, when they do not say so in time: what was written may be lost with its master, or not.
 */
export type ConfirmWrites = (writer: Redis, key: string, since?: Connections) => Promise<void>;

/** The watch over replicas goes on until `stop`, whatever becomes of connections. */
export interface Confirmations {
  confirm: ConfirmWrites;
  stop(): void;
}

/** Without `REDIS_WAIT_REPLICAS` the reply of the master is enough. */
export const confirmNothing: ConfirmWrites = async () => {};

const TIMEOUT_MS = 1_000;
/** Between questions to a Cluster which master there is now, but for the first. */
const AGAIN_MS = 200;
/** Replies of a node that is not the master of a slot, or not any more, and how ioredis says that it has gone. */
const IS_ELSEWHERE = /^(MOVED|CLUSTERDOWN)\b|^Connection is closed\.$/;
/** Longer than Sentinels take, from the order to a replica until their clients hear of the new master. */
const LEFT_MS = 5_000;
/** A replica that comes and goes in less than this between two promises was no replica for long. */
const LOOK_MS = 500;
/** One that answers nothing for longer may be given up for dead, and one of its replicas be made the next master. */
const SILENT_LOOKS = 2;
/** Of a replica, since it last said how far it is, which it does each second: one that hangs may still be made the next master. */
const MOST_LAG_S = 2;
/** Masters that are remembered: each failover makes another one. */
const MAX_MASTERS = 100;
const TAG = /^.*?\{[^}]+\}/;
/**
 * Also on a full Redis, where what was accepted is still ended, and every STOP written. Nothing of it stays: in a slot that moves a
 * master answers for keys that it has, and says of others that the next one has them. What was written may be there already.
 */
const WRITE_MARK = `#!lua flags=allow-oom
redis.call('SET', KEYS[1], '')
redis.call('DEL', KEYS[1])`;

/** The server that was asked, and what it calls its data. */
interface Asked {
  server: string | undefined;
  history: string | undefined;
}

/** What one master is asked together: marks, and one question about all of them. */
interface Round {
  marks: Set<string>;
  /** Of each mark that it took; why not, of one that it refused. */
  told: Promise<ReadonlyMap<string, Asked | Error>>;
}

interface Rounds {
  running: Promise<unknown> | undefined;
  /** Of those whose writes came too late for the running one. */
  next: Round | undefined;
}

/**
 * Asks Redis to wait for replicas (`WAIT`), each master once for all who ask in the meantime, in whichever slots: else the question of
 * each slot would wait for the answers to those of all others.
 *
 * `WAIT` counts from the last write of its own connection, and holds that connection up. So it has a connection of its own, and
 * writes a mark first: replicas that have the mark have all that was written before it on that server, by whichever process. That
 * may be another one than the writer's: one was told of the next master, and the other still leads to the one before.
 * @param redis only for this; fails fast. Its masters are asked for their replicas every `lookMs`.
 */
export function confirmByReplicas(
  redis: Redis,
  replicas: number,
  { lookMs = LOOK_MS }: { lookMs?: number } = {},
): Confirmations {
  const rounds = new WeakMap<Redis, Rounds>();
  /** By the id of their replication: one that is back is known by it. */
  const watches = new Map<string, ReplicaWatch>();
  /** How many looks a master has not answered. */
  const silentLooks = new WeakMap<Redis, number>();
  const asked = new WeakSet<Redis>();
  let lookedAtMs = systemClock.monotonicMs();
  const looking = setInterval(() => {
    const nowMs = systemClock.monotonicMs();
    const missed = Math.floor((nowMs - lookedAtMs) / lookMs);
    lookedAtMs = nowMs;
    // A process that stood still knows as little as one that was not answered.
    for (const node of masterNodes(redis)) look(node, Math.max(1, missed));
  }, lookMs).unref();

  function look(node: Redis, looks: number): void {
    silentLooks.set(node, (silentLooks.get(node) ?? 0) + looks);
    if (asked.has(node)) return;
    asked.add(node);
    const answer = node.info('replication').then((info) => hasLost(node, info));
    answer.catch(() => {}).finally(() => asked.delete(node));
  }

  /** This client writes nothing else, so it is refused nothing that would tell it of the next master of a Cluster: it asks. */
  async function ask(tag: string): Promise<Asked> {
    const untilMs = systemClock.monotonicMs() + TIMEOUT_MS;
    for (let pauseMs = 0; ; pauseMs = AGAIN_MS) {
      try {
        return await askMaster(`${tag}:mark`);
      } catch (thrown) {
        if (!isCluster(redis) || !isElsewhere(toError(thrown))) throw thrown;
        await sleep(pauseMs);
        const leftMs = untilMs - systemClock.monotonicMs();
        if (leftMs < AGAIN_MS) throw thrown;
        await Promise.race([refreshMasters(redis), sleep(leftMs)]);
      }
    }
  }

  async function askMaster(mark: string): Promise<Asked> {
    const node = masterOfKey(redis, mark);
    const ofNode = rounds.get(node) ?? { running: undefined, next: undefined };
    rounds.set(node, ofNode);
    ofNode.next ??= openRound(node, ofNode);
    ofNode.next.marks.add(mark);
    const told = (await ofNode.next.told).get(mark)!;
    if (told instanceof Error) throw told;
    return told;
  }

  function openRound(node: Redis, ofNode: Rounds): Round {
    const marks = new Set<string>();
    const before = ofNode.running ?? Promise.resolve();
    const told = before
      .catch(() => {})
      .then(() => {
        Object.assign(ofNode, { running: told, next: undefined });
        return askAboutAll(node, [...marks]);
      })
      .finally(() => {
        if (ofNode.running === told) ofNode.running = undefined;
      });
    return { marks, told };
  }

  async function askAboutAll(node: Redis, marks: readonly string[]): Promise<ReadonlyMap<string, Asked | Error>> {
    // All on one connection: a node that the slot of a mark has left, or is about to leave, refuses that mark. 0 would be without end.
    const pipeline = node.pipeline();
    for (const mark of marks) pipeline.eval(WRITE_MARK, 1, mark);
    const told = (await pipeline.wait(replicas, TIMEOUT_MS).info('server', 'replication').exec()) ?? [];
    const asked = await readAnswer(node, told.slice(marks.length)).catch(toError);
    // First what it says of a mark: one that is no master any more refuses the question, too, and names the next master for the mark.
    return new Map(marks.map((mark, i) => [mark, told[i]?.[0] ?? asked]));
  }

  async function readAnswer(node: Redis, [waited, info]: [Error | null, unknown][]): Promise<Asked> {
    const error = waited?.[0] ?? info?.[0];
    if (error) throw error;
    if (Number(waited?.[1]) < replicas) throw new Error(`${waited?.[1]} of ${replicas} replicas`);
    const text = String(info?.[1]);
    if (await hasLost(node, text)) throw new Error('a replica may have become the master');
    return { server: readServerId(text) ?? '', history: readHistoryId(text) };
  }

  async function hasLost(node: Redis, info: string): Promise<boolean> {
    const { id, present } = readReplication(info);
    let watch = watches.get(id);
    if (!watch) {
      watch = new ReplicaWatch(() => isBeingReplaced(node), electionHeardAtMs(node));
      watches.set(id, watch);
      for (const oldest of watches.keys()) if (watches.size > MAX_MASTERS) watches.delete(oldest);
    } else if ((silentLooks.get(node) ?? 0) > SILENT_LOOKS) {
      // Not of a master that is new here: its first answer may have waited for its election.
      watch.doubt();
    }
    silentLooks.delete(node);
    // Before the wait below: what it may have missed is heard by then, too late for this answer.
    const mayMiss = isRecent(unheardSinceMs(node));
    return (await watch.hasLost(present, electionHeardAtMs(node))) || mayMiss;
  }

  async function askAbout(writer: Redis, key: string, since?: Connections): Promise<void> {
    // First: by the next turn of the event loop the writer may have left the server that it wrote to.
    const node = masterOfKey(writer, key);
    if (since && !since.has(node.stream)) throw new Error('the first writes went by another connection');
    const before = since?.get(node.stream);
    const written = serverOf(node);
    const [writtenTo, asked] = await Promise.all([written, ask(TAG.exec(key)![0])]);
    if (writtenTo !== asked.server) throw new Error('the master was replaced');
    if (before && (await before) !== asked.history) throw new Error('the master was another one in between');
  }

  /** Whatever fails in asking fails after the write: that may be there, also where no master is known by now. */
  const confirm: ConfirmWrites = (...about) =>
    askAbout(...about).catch((thrown: unknown) => {
      throw notConfirmed(toError(thrown));
    });

  return { confirm, stop: () => clearInterval(looking) };
}

/**
 * The replicas of a master. One that leaves may have been made the next master, with this one still taking writes and the others
 * still confirming them, until they hear of it: what they confirm meanwhile is lost. When it only stopped, the others confirm again
 * after a while. `INFO` comes after `WAIT`, so the end of its connection is known by then.
 *
 * One that hangs leaves nothing, and obeys when it goes on: so no one confirms from the order on, until it is taken back.
 */
class ReplicaWatch {
  private readonly known = new Set<string>();
  private leftAtMs = Number.NEGATIVE_INFINITY;
  /** An order was heard that may still be obeyed. */
  private isOrdered = false;
  private readonly begun: Promise<void>;

  /**
   * @param isReplaced whether another master is being elected.
   * @param electionAtMs of the election that was heard last: it made this master, if it was not asked for while that is under way.
   */
  constructor(
    private readonly isReplaced: () => Promise<boolean>,
    private electionAtMs: number,
  ) {
    this.begun = this.askOnce();
  }

  private async askOnce(): Promise<void> {
    if (await this.isReplaced()) this.doubt();
  }

  /** One may have left that was not known. */
  doubt(): void {
    this.leftAtMs = systemClock.monotonicMs();
  }

  /**
   * Whether one has left lately, or has been chosen to be the next master.
   * @param present all that are there, by address.
   * @param electionAtMs of the election that was heard last.
   */
  async hasLost(present: readonly string[], electionAtMs: number): Promise<boolean> {
    for (const name of this.known) {
      if (present.includes(name)) continue;
      this.known.delete(name);
      this.doubt();
    }
    for (const name of present) this.known.add(name);
    if (electionAtMs > this.electionAtMs) {
      this.electionAtMs = electionAtMs;
      this.isOrdered = true;
      this.doubt();
    }
    await this.begun;
    if (this.isOrdered && !this.isDoubtful()) {
      if (await this.isReplaced()) this.doubt();
      else this.isOrdered = false;
    }
    return this.isDoubtful();
  }

  private isDoubtful(): boolean {
    return isRecent(this.leftAtMs);
  }
}

const isRecent = (sinceMs: number) => systemClock.monotonicMs() - sinceMs < LEFT_MS;

/** Of the answer to `INFO replication`: replicas by address, those that follow, and say so. */
function readReplication(info: string): { id: string; present: string[] } {
  const id = readHistoryId(info) ?? '';
  const replicas = info.matchAll(/^slave\d+:ip=([^,]+),port=(\d+),state=online,.*?\blag=(-?\d+)/gm);
  // -1 where one has said so in a second that the master's own clock has not begun yet.
  const present = [...replicas].filter(([, , , lag]) => Number(lag) <= MOST_LAG_S);
  return { id, present: present.map(([, host, port]) => `${host}:${port}`) };
}

/** Also where this client knows no master: the one that it knew has gone. */
function isElsewhere(error: Error): boolean {
  return IS_ELSEWHERE.test(error.message) || (error instanceof GatewayError && error.code === 'redis_away');
}

function notConfirmed(cause: Error): GatewayError {
  return new GatewayError({ code: 'not_confirmed', message: 'replicas of Redis have not confirmed a write', cause });
}

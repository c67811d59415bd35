import { randomUUID } from 'node:crypto';
import { BUILT_IN_VERSION, BUILT_IN_VERSION_DATE_MS, isClientVersion } from '@gateway/contracts/devices/client-version';
import { clientVersionKeys } from '@gateway/contracts/redis-keys';
import { type Clock, inTime } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import { type Store, writeAlways } from '../core/store.js';

const TRIAL_EVERY_MS = 30 * 60_000;
/** Of a node of a Cluster. */
const ANSWER_MS = 2_000;
/** Asked at most so often by one process whether a trial is due. */
const CLAIM_EVERY_MS = 1_000;

/** The version that every device of the installation logs in with, and what is known of it. */
export interface VersionInForce {
  version: string;
  /** Set at run time, by `MESSENGER_VERSION`, or neither. */
  source: 'runtime' | 'environment' | 'builtIn';
  /** The network has refused it: no device logs in, except for one attempt now and then, until another version is set. */
  isRefused: boolean;
  /** Since when it has been known: its own date, or when this installation first used it. */
  sinceMs: number;
  /** From when on the network will refuse it, where it has said so. */
  expiresAtMs: number | undefined;
}

/**
 * The version of the web client that this one appears as. The network retires versions; then no device can log in, and
 * each try is one more login of an outdated client. So the first refusal stops all of them, in every process, until
 * another version is set (`npm run cli -- version set`), or the same one again. A refusal may be a mistake: every half
 * hour one device tries to log in, and if it succeeds, all do. Read at each connect.
 */
export class ClientVersion {
  private last: VersionInForce | undefined;
  /** The refused version that a device of this process is trying. */
  private onTrial: string | undefined;
  private claimedAtMs = 0;

  constructor(
    private readonly deps: {
      store: Store;
      clock: Pick<Clock, 'nowMs'>;
      logger: Logger;
      /** `MESSENGER_VERSION`. */
      configured?: string | undefined;
      /** Between two trials of a refused version. */
      trialEveryMs?: number;
      /** Default 2 s. For tests. */
      answerMs?: number;
    },
  ) {}

  /** As it was read last. */
  get known(): VersionInForce | undefined {
    return this.last;
  }

  /** While its node of a Cluster is away, what was known before holds on: the devices of other nodes log in. */
  async read(): Promise<VersionInForce> {
    const asked = this.ask();
    if (!isCluster(this.deps.store.redis)) return asked;
    const isAnswered = await inTime(asked, this.deps.answerMs ?? ANSWER_MS).catch(() => false);
    return isAnswered || this.last?.isRefused ? asked : (this.last ?? this.unread());
  }

  private unread(): VersionInForce {
    const { configured, clock } = this.deps;
    const source = configured === undefined ? 'builtIn' : 'environment';
    const sinceMs = configured === undefined ? BUILT_IN_VERSION_DATE_MS : clock.nowMs();
    return { version: configured ?? BUILT_IN_VERSION, source, sinceMs, isRefused: false, expiresAtMs: undefined };
  }

  private async ask(): Promise<VersionInForce> {
    const { store, configured } = this.deps;
    const keys = clientVersionKeys(store.space);
    const [fields, refused] = await Promise.all([store.redis.hgetall(keys.version), store.redis.get(keys.refused)]);
    const isSet = fields.version !== undefined && isClientVersion(fields.version);
    const version = isSet ? fields.version! : (configured ?? BUILT_IN_VERSION);
    const inForce: VersionInForce = {
      version,
      source: isSet ? 'runtime' : configured === undefined ? 'builtIn' : 'environment',
      isRefused: refused === version,
      sinceMs: numberOf(fields[seenField(version)]) ?? (await this.firstSeenMs(version)),
      expiresAtMs: numberOf(fields[expiryField(version)]),
    };
    if (this.last?.isRefused && !inForce.isRefused) this.deps.logger.info('devices log in again', { version });
    this.last = inForce;
    return inForce;
  }

  /** Of the one that is built in the date is known; of others, when they were first used here. */
  private async firstSeenMs(version: string): Promise<number> {
    if (version === BUILT_IN_VERSION) return BUILT_IN_VERSION_DATE_MS;
    const { store, clock } = this.deps;
    const nowMs = clock.nowMs();
    await writeAlways(store, 'HSETNX', clientVersionKeys(store.space).version, seenField(version), nowMs);
    return nowMs;
  }

  /** Whether a device may log in now: the version is not refused, or this device is the one that tries it. */
  async mayLogIn(): Promise<boolean> {
    const { version, isRefused } = await this.read();
    return !isRefused || (await this.claimTrial(version));
  }

  /** One device of one process gets it; when nothing comes of it, another one after a while. */
  private async claimTrial(version: string): Promise<boolean> {
    const { store, clock, logger } = this.deps;
    // Every device that waits looks every few seconds.
    if (Math.abs(clock.nowMs() - this.claimedAtMs) < Math.min(CLAIM_EVERY_MS, this.trialEveryMs)) return false;
    this.claimedAtMs = clock.nowMs();
    const { trial } = clientVersionKeys(store.space);
    const claim = `${version} ${randomUUID()}`;
    const held = await writeAlways(store, 'SET', trial, claim, 'PX', this.trialEveryMs, 'NX', 'GET');
    // It is ours already where the client asked twice by itself, as the first answer was lost.
    if (held !== null && held !== claim) return false;
    this.onTrial = version;
    logger.info('one device tries the refused version again', { version });
    return true;
  }

  /** A device has logged in. Ends the pause if it was on trial. Never rejects: there is another trial later. */
  async noteAccepted(version: string): Promise<void> {
    if (this.onTrial !== version) return;
    this.onTrial = undefined;
    const { store, logger } = this.deps;
    const { refused, trial } = clientVersionKeys(store.space);
    try {
      if ((await store.redis.get(refused)) !== version) return;
      await store.redis.del(refused);
      await store.redis.del(trial);
      logger.warn('the network accepts the refused version again: all devices log in', { version });
    } catch (thrown) {
      logger.warn('end of the version refusal not recorded', { error: toError(thrown) });
    }
  }

  private get trialEveryMs(): number {
    return this.deps.trialEveryMs ?? TRIAL_EVERY_MS;
  }

  /** The network has refused it. Only one process logs this, once. */
  async noteRefusal(version: string): Promise<void> {
    const { store, logger } = this.deps;
    const keys = clientVersionKeys(store.space);
    this.onTrial = undefined;
    await writeAlways(store, 'SET', keys.trial, version, 'PX', this.trialEveryMs);
    const before = await writeAlways(store, 'SET', keys.refused, version, 'GET');
    if (this.last?.version === version) this.last = { ...this.last, isRefused: true };
    if (before === version) return;
    logger.error('the network refuses this version of the client: no device logs in until another one is set', {
      version,
      remedy: 'npm run cli -- version set <version>',
    });
  }

  /**
   * The network has said when it will refuse a version, or (`undefined`) that it will not. A date only comes nearer: a
   * later one is that of a server which has not heard. Never rejects: the next login hears it again.
   */
  async noteDeadline(version: string, expiresAtMs: number | undefined): Promise<void> {
    const { store, logger } = this.deps;
    const { version: key } = clientVersionKeys(store.space);
    try {
      const held = numberOf((await store.redis.hget(key, expiryField(version))) ?? undefined);
      if (expiresAtMs === undefined ? held === undefined : held !== undefined && expiresAtMs >= held) return;
      if (expiresAtMs === undefined) await store.redis.hdel(key, expiryField(version));
      else await writeAlways(store, 'HSET', key, expiryField(version), expiresAtMs);
      if (this.last?.version === version) this.last = { ...this.last, expiresAtMs };
      logger.warn('the network announced a new expiry date for this client version', {
        version,
        expiresAt: expiresAtMs === undefined ? 'none' : new Date(expiresAtMs).toISOString(),
      });
    } catch (thrown) {
      logger.warn('expiry of the client version not recorded', { error: toError(thrown) });
    }
  }
}

/** Counts from each next login on, in every process; `undefined` goes back to `MESSENGER_VERSION`. Ring `desired` afterwards. */
export async function setClientVersion(store: Store, version: string | undefined): Promise<void> {
  const keys = clientVersionKeys(store.space);
  if (version === undefined) await store.redis.hdel(keys.version, 'version');
  else await writeAlways(store, 'HSET', keys.version, 'version', version);
  // What was known of versions before is of no use any more, so this key does not grow.
  const old = (await store.redis.hkeys(keys.version)).filter((field) => field !== 'version');
  if (old.length > 0) await store.redis.hdel(keys.version, ...old);
  await store.redis.del(keys.refused);
  await store.redis.del(keys.trial);
}

const seenField = (version: string) => `seen:${version}`;
const expiryField = (version: string) => `expires:${version}`;

function numberOf(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && Number.isFinite(value) ? value : undefined;
}

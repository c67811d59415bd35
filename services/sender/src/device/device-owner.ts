import {
  askedPauseEndMs,
  type DesiredState,
  type ObservedState,
  type Reason,
  restBeforeLoginMs,
  type Want,
} from '@gateway/contracts/devices/device-state';
import type { DeviceAddress } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import type { HeldDevice } from '@gateway/fleet/session-keeper';
import { disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { FencedError, toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { contain, keepContained } from '@gateway/runtime/process/contain';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { UnknownKeyError } from '@gateway/store/core/vault';
import { readDeviceState, reportObserved } from '@gateway/store/devices/device-state';
import { readDevice, readIdKey } from '@gateway/store/devices/devices';
import { noteReplaced } from '@gateway/store/devices/incidents/count-replaced';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import { noteEnded, noteLasted, noteStart, readStarts } from '@gateway/store/fleet/starts/count-starts';
import { LASTED_MS, startPauseMs } from '@gateway/store/fleet/starts/start-pause';
import { TimeoutError } from 'p-queue';
import type { ProcessDeps } from '../deps.js';
import type { PlaceCounts } from '../scheduling/places.js';
import { ResultWriter } from '../scheduling/result-writer.js';
import { WakeUp } from '../scheduling/wake-up.js';
import { DeviceSocket, type SocketEnd } from './device-socket.js';
import { DeviceWork, type WokenBy } from './device-work.js';
import { ReconnectBackoff } from './reconnect-backoff.js';
import { takeSessionEvent } from './take-session-event.js';

export type OwnerState = 'backingOff' | 'opening' | 'open' | 'waiting' | 'ended';

/** Owners that failed, or died with their process, in a row. One or two may be due to a deployment. */
const MANY_STARTS = 2;
const LOG_OUT_MS = 5_000;
/** For lost doorbells. Shorter while sends are active, as a delay then matters more. */
const LOOK_MS = { busy: 5_000, quiet: 30_000 };
/** A socket that waits for the network uses no CPU: the next one may open meanwhile. */
const MAX_OPENING_MS = 3_000;

/**
 * Owns one device in this process, from the ownership to its release:
 *
 *   opening -> open -> waiting (for the backoff) -> opening -> ... -> ended
 *
 * Before that it is `backingOff` if the owners before it failed one after the other, see `startPauseMs`. An
 * uncaught error ends the owner whose socket, timer or promise it came from, and not the process.
 * It ends when the ownership is lost, when the device is to be unlinked, or when it is told to hand over.
 * Only Redis keeps state across ownerships.
 */
export class DeviceOwner {
  state: OwnerState = 'opening';
  /** Resolves when the ownership is given back, or lost. */
  readonly ended: Promise<void>;
  /** It ended for a reason that may persist: claiming the device again at once would be useless. */
  failed = false;
  readonly address: DeviceAddress;
  private readonly logger: Logger;
  private readonly backoff: ReconnectBackoff;
  private readonly wakeUp = new WakeUp();
  private readonly ending = new AbortController();
  /** Redis counts this ownership until it has lasted, or ended as it should. */
  private isCounted = false;
  /** One message of lists at a time: one of them may have ended the owners before. */
  private isCareful = false;
  /** It works on no sends, and neither a doorbell nor a send has come since that was found. */
  private isQuiet = false;
  private wasRung = false;
  private socket: DeviceSocket | undefined;
  private work: DeviceWork | undefined;

  constructor(
    private readonly deps: ProcessDeps,
    private readonly ownership: HeldDevice,
  ) {
    this.address = ownership.address;
    this.logger = deps.logger.child({ ...ownership.address, epoch: ownership.epoch });
    this.backoff = new ReconnectBackoff(deps.clock.monotonicMs);
    ownership.lost.addEventListener('abort', () => this.fail(new FencedError()), { once: true });
    this.ended = contain(
      (error) => this.failUncaught(error),
      () => this.run(),
    );
  }

  /** Something may have changed: called on doorbells, and `afterGap` when a connection to Redis is there again. */
  look({ afterGap = false } = {}): void {
    if (afterGap) this.work?.distrustRedis();
    [this.isQuiet, this.wasRung] = [false, true];
    this.wakeUp.ring();
    void this.work?.refreshPace();
  }

  /** A send of this device was accepted. Without work there is nothing to tell: it reads what is open when it begins. */
  async takeJob(job: SendJob, by?: WokenBy): Promise<void> {
    await this.work?.takeJob(job, by);
    if (!this.isQuiet || this.work?.isIdle !== false) return;
    this.isQuiet = false;
    this.wakeUp.wakeWithin(this.lookMs());
  }

  /** Adds the recipients that it works on to these. */
  countPlaces(counts: PlaceCounts): void {
    this.work?.countPlaces(counts);
  }

  /** Another process has a question for the owner: called on doorbells. */
  answerQuestions(): void {
    this.work?.answerQuestions();
  }

  /** Releases the device for the next owner, which continues the lists with the same ids. */
  async handOver(): Promise<void> {
    this.endSoon();
    await this.ended;
  }

  private async run(): Promise<void> {
    try {
      await this.backOff();
      if (this.mustEnd()) return;
      // Not earlier: an owner that dies while it does nothing did not die because of this device.
      const starts = await noteStart(this.deps.store, this.ownership);
      this.isCounted = true;
      this.isCareful = starts > MANY_STARTS;
      const lasted = setTimeout(() => this.lasted(), this.deps.lastedMs ?? LASTED_MS);
      this.ending.signal.addEventListener('abort', () => clearTimeout(lasted), { once: true });
      const socket = await this.prepare();
      await this.keepOpen(socket);
    } catch (thrown) {
      if (thrown instanceof UnknownKeyError) await this.waitForKey(thrown).catch((next) => this.fail(toError(next)));
      else this.fail(toError(thrown));
    } finally {
      await this.release();
      this.state = 'ended';
    }
  }

  private lasted(): void {
    this.isCareful = false;
    void noteLasted(this.deps.store, this.ownership).catch(() => {});
  }

  /** Until this process is started with the key, the value is encrypted with another, or the device is to be unlinked. */
  private async waitForKey(error: UnknownKeyError): Promise<void> {
    this.state = 'waiting';
    this.logger.error('device waits for an encryption key', { error, ...error.fields });
    await this.reportOwnWait({ status: 'connecting', reason: 'keys_unreadable' });
    while (!this.mustEnd()) {
      const state = await readDeviceState(this.deps.store, this.address);
      const isThere = await readIdKey(this.deps.store, this.address).then(Boolean, () => false);
      if (isThere || state.desired?.want !== 'linked') return;
      await this.wakeUp.wait(this.lookMs());
    }
  }

  /** Owns the device, so that no other process starts with it, and does nothing for the length of the pause. */
  private async backOff(): Promise<void> {
    const { store, clock } = this.deps;
    const failed = await readStarts(store, this.address);
    const pauseMs = startPauseMs(failed);
    if (pauseMs <= 0) return;
    const untilMs = clock.monotonicMs() + pauseMs;
    this.state = 'backingOff';
    this.logger.error('several owners of the device failed in a row, the next attempt is delayed', { failed });
    const isWanted = async () => (await readDeviceState(store, this.address)).desired?.want === 'linked';
    await this.reportOwnWait({ status: 'connecting', reason: 'owner_failing', notBeforeMs: clock.nowMs() + pauseMs });
    while (!this.mustEnd() && clock.monotonicMs() < untilMs && (await isWanted())) {
      await this.wakeUp.wait(Math.min(untilMs - clock.monotonicMs(), this.lookMs()));
    }
    this.state = 'opening';
  }

  /** Never replaces a pause that the network asked for, which every login must respect. */
  private async reportOwnWait(wait: Omit<ObservedState, 'sinceMs'>): Promise<void> {
    const { desired, observed } = await readDeviceState(this.deps.store, this.address);
    if (desired?.want !== 'linked' || askedPauseEndMs(observed) > this.deps.clock.nowMs()) return;
    await this.report(desired, wait);
  }

  /** Opens one socket after the other until it must end, or the device is to be unlinked. */
  private async keepOpen(socket: DeviceSocket): Promise<void> {
    while (!this.mustEnd()) {
      const { desired, observed, hasKeys } = await readDeviceState(this.deps.store, this.address);
      if (desired?.want !== 'linked') return this.letGo(socket, desired);
      if (!hasKeys) return this.unlink(desired, { reason: 'logged_out', quarantine: false });
      const end = socket.takeEnd();
      const restMs = restBeforeLoginMs(desired, observed, this.deps.clock.nowMs());
      if (end) await this.afterEnd(desired, end);
      else if (socket.exists) await Promise.all([socket.keepShown(desired, observed), this.rest(this.lookMs())]);
      else if (restMs > 0) await this.wait(restMs);
      else if (await this.deps.clientVersion.mayLogIn()) await this.open(socket, desired, observed);
      else await this.waitForVersion(desired, observed);
    }
  }

  private async wait(ms: number): Promise<void> {
    this.state = 'waiting';
    await this.rest(Math.min(ms, this.lookMs()));
  }

  /** The network refuses the version. Setting another one rings a doorbell; a successful trial does not. */
  private async waitForVersion(desired: DesiredState, observed: ObservedState | undefined): Promise<void> {
    const wait = { status: 'connecting', reason: 'client_outdated' } as const;
    if (observed?.reason !== wait.reason) await this.report(desired, wait);
    await this.wait((this.deps.lookMs ?? LOOK_MS).busy);
  }

  private async open(socket: DeviceSocket, desired: DesiredState, observed: ObservedState | undefined): Promise<void> {
    this.state = 'opening';
    this.deps.metrics.countLogin('begun');
    // State from a previous owner, which may be long outdated.
    if (observed?.status === 'connected') await this.report(desired, { status: 'connecting', reason: 'restoring' });
    const options = { signal: this.ending.signal, timeout: MAX_OPENING_MS };
    await this.deps.openings
      .add(
        keepContained(() => socket.open(desired)),
        options,
      )
      .catch((thrown: unknown) => {
        if (this.mustEnd()) return;
        if (!(thrown instanceof TimeoutError)) throw thrown;
        if (this.state === 'opening') this.state = 'waiting';
      });
  }

  private opened(session: MessengerSession): void {
    this.state = 'open';
    this.backoff.opened();
    this.deps.metrics.countLogin('logged_in');
    this.logger.info('device connected');
    this.work?.attach(session);
  }

  private async afterEnd(desired: DesiredState, end: SocketEnd): Promise<void> {
    const nowMs = this.deps.clock.nowMs();
    const { next, reason, afterMs = 0, log } = disconnectPolicy(end, nowMs);
    this.deps.metrics.countDisconnect(end.kind);
    this.logger.warn('socket ended', {
      outcome: end.kind,
      next,
      why: log,
      ...('code' in end && { networkCode: end.code }),
      ...(end.serverWords !== undefined && { networkReason: end.serverWords }),
    });
    if (next === 'release' || this.mustEnd()) return this.endSoon();
    const words = end.serverWords === undefined ? {} : { networkReason: end.serverWords };
    if (next === 'deleteKeys') return this.unlink(desired, { reason, quarantine: true, ...words });
    const replaced = next === 'reconnectOrPark' && (await noteReplaced(this.deps.store, this.ownership, nowMs));
    if (replaced === 'tooOften') return this.park(desired, words);
    // If the network asks for it at each login, logins must not follow one another without a pause.
    if (next === 'reconnectNow' && this.state === 'open') return;
    await this.pause(desired, { reason, minMs: afterMs, ...words });
  }

  /** The pause is stored: the next owner keeps to it, too. */
  private async pause(
    desired: DesiredState,
    { reason, minMs, networkReason }: { reason: Reason; minMs: number; networkReason?: string },
  ): Promise<void> {
    const notBeforeMs = Math.ceil(this.deps.clock.nowMs() + this.backoff.nextDelayMs(minMs));
    await this.report(desired, { status: 'connecting', reason, notBeforeMs, ...(networkReason && { networkReason }) });
  }

  /** Until a doorbell rings; then sends in Redis are compared with what this process works on. */
  private async rest(ms: number): Promise<void> {
    await this.wakeUp.wait(ms);
    if (!this.mustEnd()) void this.lookAtWork().catch((thrown: unknown) => this.fail(toError(thrown)));
  }

  private async lookAtWork(): Promise<void> {
    const { work, wasRung } = this;
    this.wasRung = false;
    if (wasRung) await work?.refreshSends();
    else if (!this.isQuiet) await work?.refreshPace();
    this.isQuiet = work?.isIdle !== false;
    await work?.prune();
  }

  private lookMs(): number {
    const { busy, quiet } = this.deps.lookMs ?? LOOK_MS;
    return this.isQuiet ? quiet : busy;
  }

  /**
   * The user wants no account here, or another one. With a socket open the network is told; without one the ownership goes
   * to the connection service, which logs in to log out.
   */
  private async letGo(socket: DeviceSocket, desired: DesiredState | undefined): Promise<void> {
    this.endSoon();
    if (this.state !== 'open' || !socket.exists) return;
    const logout = (await socket.logOut(LOG_OUT_MS)) ? 'confirmed' : 'unconfirmed';
    await retireKeys(this.deps.store, this.ownership, { quarantine: false });
    if (desired?.want === 'unlinked') {
      await this.report(desired, { status: 'disconnected', reason: 'disconnected', logout });
    }
  }

  /** The account is gone from this device. Final, and reported once. */
  private async unlink(
    desired: DesiredState,
    { reason, quarantine, networkReason }: { reason: Reason; quarantine: boolean; networkReason?: string },
  ): Promise<void> {
    this.endSoon();
    this.logger.error('device unlinked', { reason });
    await retireKeys(this.deps.store, this.ownership, { quarantine });
    await this.report(desired, { status: 'disconnected', reason, ...(networkReason && { networkReason }) }, 'unlinked');
  }

  /** Another client uses the keys; only the user can decide which of the two stays. */
  private async park(desired: DesiredState, words: { networkReason?: string }): Promise<void> {
    this.endSoon();
    this.logger.error('device parked: another client uses its keys');
    await this.report(desired, { status: 'disconnected', reason: 'replaced', ...words }, 'parked');
  }

  private async prepare(): Promise<DeviceSocket> {
    const { deps, ownership, logger, address } = this;
    const [device, idKey] = await Promise.all([readDevice(deps.store, address), readIdKey(deps.store, address)]);
    if (!device || !idKey) throw new Error('a linked device without a record');
    const shared = {
      ...{ ...deps, ownership, logger, device },
      ids: platformIds(idKey),
      results: new ResultWriter({ store: deps.store, clock: deps.clock, metrics: deps.metrics, ownership }),
      onFailed: (error: Error) => this.fail(error),
    };
    const socket: DeviceSocket = new DeviceSocket({
      ...shared,
      onEvent: (event) => takeSessionEvent({ socket, work, ...shared }, event),
      onOpen: (session) => this.opened(session),
      onEnd: () => {
        work.detach();
        this.wakeUp.ring();
      },
    });
    const work = new DeviceWork({
      ...shared,
      isCareful: () => this.isCareful,
      forgetPerson: (number) => socket.forgetPerson(number),
      onStalled: (session) => {
        work.detach();
        socket.giveUp(session);
      },
    });
    [this.socket, this.work] = [socket, work];
    await work.start();
    return socket;
  }

  private async report(desired: DesiredState, observed: Omit<ObservedState, 'sinceMs'>, want?: Want): Promise<void> {
    await reportObserved(this.deps.store, this.ownership, desired, observed, want);
  }

  /**
   * Releases in an order in which the next owner waits only for the last acks: no more work, the socket closed and
   * its keys written, then the ownership.
   */
  private async release(): Promise<void> {
    const { keeper, store } = this.deps;
    this.endSoon();
    await this.work?.stop({ hasFailed: this.failed });
    const warn = (thrown: unknown) => this.logger.warn('session not closed', { error: toError(thrown) });
    await this.socket?.close().catch(warn);
    // Not awaited: Redis may be unreachable, which is not the device's fault either.
    if (this.isCounted && !this.failed) void noteEnded(store, this.ownership).catch(() => {});
    await keeper.release(this.ownership);
    await ringDoorbell(store, { topic: 'owner', ...this.address });
  }

  private fail(error: Error): void {
    if (this.state === 'ended' || this.failed) return;
    // One line: all that is under way fails when the ownership is lost.
    if (!(error instanceof FencedError)) {
      this.failed = true;
      this.logger.error('owner failed, device released', { error });
    } else if (!this.mustEnd()) this.logger.warn('ownership lost', { error });
    this.endSoon();
  }

  private failUncaught(error: Error): void {
    this.deps.metrics.countContained();
    if (this.state === 'ended') this.logger.error('uncaught error of a device that was given back', { error });
    else this.fail(error);
  }

  private endSoon(): void {
    this.ending.abort();
    this.wakeUp.ring();
  }

  /** It gives the device back, or has done so. */
  mustEnd(): boolean {
    return this.ending.signal.aborted;
  }
}

import { versionNumbers } from '@gateway/contracts/devices/client-version';
import type { DesiredState, ObservedState } from '@gateway/contracts/devices/device-state';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import { disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import { createSessionCaches, forgetCached } from '@gateway/messenger/lookup/session-caches';
import { OPTIONAL_QUERIES } from '@gateway/messenger/session/optional-queries';
import { KeysUnreadableError } from '@gateway/messenger/session/session-errors';
import type { Account, EndCircumstances, OnSessionEvent } from '@gateway/messenger/session/session-events';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { sleep } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { toError } from '@gateway/runtime/errors';
import { reportObserved } from '@gateway/store/devices/device-state';
import { noteSuspects, readLeftOut } from '@gateway/store/devices/incidents/query-ends';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { forgetPerson, namesOfPerson } from '@gateway/store/workspace/people';
import type { DeviceDeps, ProcessDeps } from '../deps.js';
import { messageOf, recipientOf } from '../preparing/message-of.js';

/** Why a socket closed. */
export type SocketEnd = DisconnectOutcome & {
  /** The reason that the server gave, in its own words. */
  serverWords?: string;
};

export interface SocketDeps
  extends DeviceDeps,
    Pick<ProcessDeps, 'endpoint' | 'clientVersion' | 'ackTimeoutMs' | 'openSession'> {
  /** Receives all session events. Those about the socket itself come back to it. */
  onEvent: OnSessionEvent;
  /** The account is logged in, and its state written: messages may go out. */
  onOpen(session: MessengerSession): void;
  onEnd(): void;
}

/** Purpose and version of the current session. */
interface Login {
  desired: DesiredState;
  version: string;
  /** It is logged in, or over. */
  onDecided(): void;
}

const A_MOMENT_MS = 500;

/** The sockets of one device, one after the other, and their events. */
export class DeviceSocket {
  private readonly caches = createSessionCaches();
  private connecting: Promise<MessengerSession> | undefined;
  private session: MessengerSession | undefined;
  private end: SocketEnd | undefined;
  private stalled = false;
  private account: { phone: string; name?: string } | undefined;
  private profilePic: string | undefined;
  private login: Login | undefined;
  /** Lists wait for the backlog of incoming messages, which the status shows. */
  private isBehind = false;
  /** That it is logged in was written. */
  private isShown = false;

  constructor(private readonly deps: SocketDeps) {}

  /** Connecting, or connected. */
  get exists(): boolean {
    return this.session !== undefined || this.connecting !== undefined;
  }

  /** Why the last socket closed; returned once. */
  takeEnd(): SocketEnd | undefined {
    const { end } = this;
    this.end = undefined;
    return end;
  }

  /** Starts a socket; resolves when it is logged in, or has ended. */
  async open(desired: DesiredState): Promise<void> {
    const decided = defer<void>();
    try {
      this.connecting = this.connect(desired, decided.resolve);
      this.session = await this.connecting;
    } catch (thrown) {
      if (!(thrown instanceof KeysUnreadableError)) throw thrown;
      return this.ended({ kind: 'keysUnreadable' });
    } finally {
      this.connecting = undefined;
    }
    await decided.promise;
  }

  /** Ends the socket, and waits for its keys to be written. Safe to repeat. */
  async close(): Promise<void> {
    await this.connecting?.catch(() => undefined);
    await this.session?.close();
  }

  /** Deletes what is stored about a person, in memory and in Redis; returns counts by kind. Safe to repeat. */
  async forgetPerson(number: string): Promise<Record<string, number>> {
    const { store, ownership } = this.deps;
    // They would store what is forgotten here.
    await this.session?.lookUpsSettled(spellingsOf(number));
    const names = await namesOfPerson(store, ownership.address, number);
    forgetCached(this.caches, names);
    // First, or keys on their way to the store would come back.
    await this.session?.forgetResends(names);
    const removed = await forgetPerson(store, ownership.address, number);
    // What was read again in between.
    forgetCached(this.caches, names);
    void this.deps.onEvent({ kind: 'lookUpsForgotten' });
    return removed;
  }

  /** The network does not answer on this socket: a new one may help. Safe to repeat. */
  giveUp(session: MessengerSession): void {
    if (this.session !== session) return;
    this.stalled = true;
    void session.close();
  }

  /** Removes the device from the account; whether the network has confirmed that. */
  async logOut(timeoutMs: number): Promise<boolean> {
    const { session } = this;
    const confirmed = await session?.logOut(timeoutMs).then(
      () => true,
      () => false,
    );
    await session?.close();
    return confirmed ?? false;
  }

  private async connect(desired: DesiredState, onDecided: () => void): Promise<MessengerSession> {
    const { store, ownership, endpoint, clientVersion, ackTimeoutMs, ids, logger, onEvent } = this.deps;
    const { version } = await clientVersion.read();
    this.login = { desired, version, onDecided };
    const leftOut = await readLeftOut(store, ownership.address);
    return this.deps.openSession({
      keyStore: deviceKeyStore(store, ownership),
      caches: this.caches,
      endpoint,
      clientVersion: versionNumbers(version),
      leftOut: new Set(OPTIONAL_QUERIES.filter((query) => leftOut.has(query))),
      logger,
      getMessage: (platformId) => messageOf({ store, address: ownership.address, ids }, platformId),
      recipientOf: (platformId) => recipientOf({ store, address: ownership.address, ids }, platformId),
      assertMayWrite: () => ownership.assertHeld(),
      ackTimeoutMs,
      onEvent,
    });
  }

  /** The login succeeded. */
  opened(account: Account): void {
    const { desired, version, onDecided } = this.login!;
    this.account = { ...account };
    void this.deps.clientVersion.noteAccepted(version);
    this.guard(this.showOpen(desired, onDecided));
  }

  /**
   * A failover may have forgotten what the socket has said last, and it says nothing more for as long as it is open: it is said again.
   * @param observed as Redis has it.
   */
  async keepShown(desired: DesiredState, observed: ObservedState | undefined): Promise<void> {
    const { isShown, isBehind } = this;
    const isSame = observed?.status === 'connected' && (observed.reason === 'awaiting_backlog') === isBehind;
    if (isShown && !isSame) await this.showProfile(desired);
  }

  renamed(name: string): void {
    if (this.account) this.account.name = name;
    this.guard(this.showProfile(this.login!.desired));
  }

  noteVersionDeadline(expiresAtMs: number | undefined): void {
    void this.deps.clientVersion.noteDeadline(this.login!.version, expiresAtMs);
  }

  /** The session is over. */
  async closed(outcome: DisconnectOutcome, circumstances: EndCircumstances): Promise<void> {
    const { version, onDecided } = this.login!;
    const { serverWords } = circumstances;
    // Before the next decision: another login would be refused, too.
    const { next } = disconnectPolicy(outcome, this.deps.clock.nowMs());
    if (next === 'stopFleet') await this.deps.clientVersion.noteRefusal(version).catch(() => {});
    await noteSuspects(this.deps, OPTIONAL_QUERIES, circumstances);
    // A socket that the network ended leaves messages without an ack too: then the network's reason counts.
    const end: SocketEnd = this.stalled && outcome.kind === 'closedByUs' ? { kind: 'stalled' } : outcome;
    this.ended(serverWords === undefined ? end : { ...end, serverWords });
    onDecided();
  }

  private async showOpen(desired: DesiredState, onDecided: () => void): Promise<void> {
    const { session } = this;
    if (!session) return;
    await this.showProfile(desired);
    if (this.session !== session) return;
    this.isShown = true;
    this.deps.onOpen(session);
    onDecided();
    this.guard(this.tellIfBehind(session, desired));
    this.profilePic = await session.fetchProfilePicture().catch(() => undefined);
    if (this.profilePic && this.session === session) await this.showProfile(desired);
  }

  /** A backlog that is over in a moment is not reported. */
  private async tellIfBehind(session: MessengerSession, desired: DesiredState): Promise<void> {
    const caughtUp = session.caughtUp.then(() => true);
    if (await Promise.race([caughtUp, sleep(A_MOMENT_MS)])) return;
    if (this.session !== session) return;
    this.isBehind = true;
    await this.showProfile(desired);
    await caughtUp;
    if (this.session !== session) return;
    this.isBehind = false;
    await this.showProfile(desired);
  }

  private async showProfile(desired: DesiredState): Promise<void> {
    const { account, profilePic, isBehind } = this;
    if (!account || !this.session) return;
    const profile = { phone: account.phone, name: account.name ?? account.phone, ...(profilePic && { profilePic }) };
    const wait = isBehind ? ({ reason: 'awaiting_backlog' } as const) : {};
    await reportObserved(this.deps.store, this.deps.ownership, desired, {
      status: 'connected',
      ...profile,
      ...wait,
    });
  }

  private ended(end: SocketEnd): void {
    this.session = undefined;
    this.isBehind = false;
    this.isShown = false;
    this.stalled = false;
    this.end = end;
    this.deps.onEnd();
  }

  private guard(work: Promise<unknown>): void {
    void work.catch((thrown: unknown) => this.deps.onFailed(toError(thrown)));
  }
}

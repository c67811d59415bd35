import { versionNumbers } from '@gateway/contracts/devices/client-version';
import {
  asksPause,
  type DesiredState,
  type ObservedState,
  type Reason,
  type Want,
} from '@gateway/contracts/devices/device-state';
import type { HeldDevice } from '@gateway/fleet/session-keeper';
import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import { disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import { openEdit } from '@gateway/messenger/inbound/open-edit';
import type { LinkMethod } from '@gateway/messenger/linking/link-method';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { openSession } from '@gateway/messenger/session/open-session';
import { OPTIONAL_QUERIES } from '@gateway/messenger/session/optional-queries';
import type { IncomingMessage, SessionEvent } from '@gateway/messenger/session/session-events';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { Endpoint } from '@gateway/messenger/socket/trust';
import type { Clock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import { reportObserved } from '@gateway/store/devices/device-state';
import { noteSuspects, readLeftOut } from '@gateway/store/devices/incidents/query-ends';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import type { ClientVersion } from '@gateway/store/fleet/client-version';
import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { keepSurely } from '@gateway/store/inbound/keep-surely';
import { readEdit } from '@gateway/store/inbound/read-edit';
import { OptOutJoins } from '@gateway/store/workspace/opt-out-joins';

export interface TaskDeps {
  store: Store;
  clock: Clock;
  logger: Logger;
  endpoint: Endpoint;
  clientVersion: ClientVersion;
}

/** One duty for one device, under its ownership. */
export interface DeviceTask extends TaskDeps {
  ownership: HeldDevice;
  /** The state that this task acts on; its writes are dropped if the user has asked for something else since. */
  desired: DesiredState;
  /** Aborted when the task must end: the ownership is lost, the process stops, or the user wants something else. */
  signal: AbortSignal;
}

/** Writes what this task sees; nothing (`moved`) when the user has asked for something else. */
export function observe(
  { store, ownership, desired }: DeviceTask,
  observed: Omit<ObservedState, 'sinceMs'>,
  want?: Want,
): Promise<'ok' | 'moved'> {
  return reportObserved(store, ownership, desired, observed, want);
}

export async function observeEnd(task: DeviceTask, reason: Reason, end: TaskEnd): Promise<void> {
  await observe(task, { ...seenOf(task, end), status: 'disconnected', reason }, 'unlinked');
}

/** How a session ended, and the reason that the server gave, in its own words. */
export type TaskEnd = DisconnectOutcome & { serverWords?: string };

/** What the end of a session means for the device, and the pause that the network asked for with it. */
export function seenOf({ clock }: Pick<DeviceTask, 'clock'>, end: TaskEnd) {
  const nowMs = clock.nowMs();
  const { reason, afterMs } = disconnectPolicy(end, nowMs);
  return {
    reason,
    ...networkReasonOf(end),
    ...(afterMs !== undefined && asksPause(reason) && { notBeforeMs: Math.ceil(nowMs + afterMs) }),
  };
}

function networkReasonOf({ serverWords }: Pick<TaskEnd, 'serverWords'>): { networkReason?: string } {
  return serverWords === undefined ? {} : { networkReason: serverWords };
}

/** Nothing is sent from here, but the library needs it. */
const ACK_TIMEOUT_MS = 15_000;

type ClosedEvent = Extract<SessionEvent, { kind: 'closed' }>;

interface TaskSession {
  session: MessengerSession;
  /** Resolves when the session is over. */
  closed: Promise<TaskEnd>;
}

type TaskEvent = 'code' | 'linked' | 'open' | 'receipt';

/** What differs between tasks. */
export type TaskHandlers = {
  [Kind in TaskEvent]?: (
    event: Extract<SessionEvent, { kind: Kind }>,
    session: MessengerSession,
  ) => void | Promise<void>;
};

/**
 * A socket of this device, closed as soon as `signal` is aborted. The connection service never sends messages, so it
 * has none to resend: retry requests wait for the next sender. Incoming messages are stored, and
 * pairs of numbers and identifiers, too: they come with any login.
 */
export async function openSessionUntil(
  signal: AbortSignal,
  task: DeviceTask,
  { on, ...options }: { on: TaskHandlers; link?: LinkMethod; openTimeoutMs?: number },
): Promise<TaskSession> {
  const { store, ownership, clock, logger, clientVersion } = task;
  const closed = defer<TaskEnd>();
  const { version } = await clientVersion.read();
  const joins = new OptOutJoins(task);
  const onEvent = (event: SessionEvent): void | Promise<void> => {
    switch (event.kind) {
      case 'open':
        void clientVersion.noteAccepted(version);
        joins.attach(session);
        return on.open?.(event, session);
      case 'code':
        return on.code?.(event, session);
      case 'linked':
        return on.linked?.(event, session);
      case 'receipt':
        return on.receipt?.(event, session);
      case 'message':
        return takeMessage(task, event.message);
      case 'numbersKnown':
        return joins.numbersKnown(event.people);
      case 'versionDeadline':
        return void clientVersion.noteDeadline(version, event.expiresAtMs);
      case 'closed':
        joins.detach();
        return noteEnd(event).then(closed.resolve);
      // Nothing is sent from here; the next session looks its names up itself.
      case 'renamed':
      case 'lateRefusal':
      case 'restrictionNews':
      case 'retryAnswered':
      case 'lookUpsForgotten':
        return;
      default:
        event satisfies never;
    }
  };
  const noteEnd = async ({ outcome, circumstances }: ClosedEvent): Promise<TaskEnd> => {
    const { serverWords } = circumstances;
    const end: TaskEnd = serverWords === undefined ? outcome : { ...outcome, serverWords };
    const { next, log } = disconnectPolicy(outcome, clock.nowMs());
    logEnd(logger, end, log);
    // Before the next decision: another login would be refused, too.
    if (next === 'stopFleet') await clientVersion.noteRefusal(version).catch(() => {});
    await noteSuspects(task, OPTIONAL_QUERIES, circumstances);
    return end;
  };
  const leftOut = await readLeftOut(store, ownership.address);
  const session: MessengerSession = await openSession({
    ...options,
    keyStore: deviceKeyStore(store, ownership),
    caches: createSessionCaches(),
    endpoint: task.endpoint,
    clientVersion: versionNumbers(version),
    leftOut: new Set(OPTIONAL_QUERIES.filter((query) => leftOut.has(query))),
    logger,
    assertMayWrite: () => ownership.assertHeld(),
    ackTimeoutMs: ACK_TIMEOUT_MS,
    onEvent,
  });
  const close = () => void session.close();
  signal.addEventListener('abort', close, { once: true });
  if (signal.aborted) close();
  return { session, closed: closed.promise };
}

async function takeMessage(task: DeviceTask, message: IncomingMessage): Promise<void> {
  const { store, ownership, clock } = task;
  await keepSurely(task, async () => {
    const nowMs = clock.nowMs();
    const read = await readEdit(store, ownership.address, { message, nowMs, openEdit });
    return recordIncoming(store, ownership, { message: read, nowMs });
  });
}

function logEnd(logger: Logger, end: TaskEnd, why: string): void {
  if (end.kind === 'closedByUs') return;
  const code = 'code' in end ? { networkCode: end.code } : {};
  logger.info('socket ended', { outcome: end.kind, why, ...code, ...networkReasonOf(end) });
}

import { readWish } from '@gateway/contracts/people/opt-outs';
import { openEdit } from '@gateway/messenger/inbound/open-edit';
import type { IncomingMessage, LateRefusal, SessionEvent } from '@gateway/messenger/session/session-events';
import { toError } from '@gateway/runtime/errors';
import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { keepSurely } from '@gateway/store/inbound/keep-surely';
import { readEdit } from '@gateway/store/inbound/read-edit';
import type { DeviceDeps } from '../deps.js';
import type { DeviceSocket } from './device-socket.js';
import type { DeviceWork } from './device-work.js';
import { keepReceipt, recordLateRefusal } from './receipts.js';

export interface EventDeps extends DeviceDeps {
  socket: Pick<DeviceSocket, 'opened' | 'renamed' | 'noteVersionDeadline' | 'closed'>;
  work: Pick<DeviceWork, 'scheduler' | 'joins'>;
}

type ReceiptEvent = Extract<SessionEvent, { kind: 'receipt' }>;

/** Handles each event of a device's session. */
export function takeSessionEvent(deps: EventDeps, event: SessionEvent): void | Promise<void> {
  const { socket, work } = deps;
  switch (event.kind) {
    case 'open':
      return socket.opened(event.account);
    case 'renamed':
      return socket.renamed(event.name);
    case 'versionDeadline':
      return socket.noteVersionDeadline(event.expiresAtMs);
    case 'closed':
      return socket.closed(event.outcome, event.circumstances);
    case 'message':
      return takeMessage(deps, event.message);
    case 'receipt':
      return takeReceipt(deps, event.receipt);
    case 'lateRefusal':
      return takeLateRefusal(deps, event.refusal);
    case 'numbersKnown':
      work.joins.numbersKnown(event.people);
      return work.scheduler.numbersKnown(event.people);
    case 'restrictionNews':
      return work.scheduler.hasNews();
    case 'retryAnswered':
      return deps.metrics.countRetry(event.outcome);
    case 'lookUpsForgotten':
      return work.scheduler.forgetLookUps();
    // Of devices that are being linked: those are the connection service's.
    case 'code':
    case 'linked':
      return;
    default:
      event satisfies never;
  }
}

function takeMessage(deps: EventDeps, message: IncomingMessage): Promise<void> {
  const { store, ownership, clock, metrics, work } = deps;
  const record = async () => {
    const nowMs = clock.nowMs();
    const read = await readEdit(store, ownership.address, { message, nowMs, openEdit });
    const change = await recordIncoming(store, ownership, { message: read, nowMs });
    return { change, wish: readWish(read.text) };
  };
  const recorded = keepSurely(deps, record).then(({ change, wish }) => {
    if (change) metrics.countOptOutReply(change);
    // Also where nothing changed: the step may have come twice, and the answer to the first was lost.
    if (wish) work.scheduler.optOutsChanged();
  });
  work.scheduler.metPerson(message);
  return orEnd(deps, recorded);
}

function takeReceipt(deps: EventDeps, receipt: ReceiptEvent['receipt']): Promise<void> {
  deps.metrics.countReceipts(receipt.kind, receipt.platformIds.length);
  return orEnd(deps, keepReceipt(deps, receipt));
}

function takeLateRefusal(deps: EventDeps, refusal: LateRefusal): void {
  void orEnd(deps, recordLateRefusal(deps, refusal)).catch(() => {});
}

/** An owner that cannot store events must end. */
function orEnd({ onFailed }: EventDeps, written: Promise<void>): Promise<void> {
  written.catch((thrown: unknown) => onFailed(toError(thrown)));
  return written;
}

import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { RECIPIENT_STATUSES, type StatusCounts } from '@gateway/contracts/sends/statuses';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { Logger } from '@gateway/runtime/logs/logger';
import { type PreparationDeps, SendPreparation } from '@gateway/sender/preparing/send-preparation';
import { FailureLines } from '@gateway/sender/reporting/failure-lines';
import type { HoldReason } from '@gateway/sender/scheduling/former-attempts';
import { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { takeReady } from './support/take.js';

const counts = Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, 0])) as StatusCounts;

describe('holding recipients back', () => {
  let hold: { isOn: boolean; met: string[]; holds(to: string): boolean };
  let written: number[];
  /** By recipient: what Redis says it waits for. */
  let said: number[];
  let counted: number;
  let onWrite: (recipient: number) => string;
  beforeEach(() => {
    hold = { isOn: true, met: [], holds: (to) => hold.isOn && !hold.met.includes(to) };
    [written, said, counted, onWrite] = [[], [], 0, () => 'queued'];
  });

  function makeSend({ errorCode = 0, kind = 'text' as 'text' | 'otp' } = {}): SendProgress {
    return new SendProgress({
      record: {
        ...{ messageId: 'msg_1', tag: '0', state: 'open', kind, total: 3, parts: 1 },
        ...{ owner: 't', requestId: 'r', createdAtMs: 0, expiresAtMs: 1, counts },
        ...{ priority: kind === 'otp' ? 'otp' : 'bulk', accountEpoch: 0, blob: '' },
      },
      recipients: [0, 1, 2].map((index) => ({
        ...{ index, to: `49151000000${index}`, status: 'queued', attempts: 0, errorCode, atMs: 0 },
        ...{ partsInFlight: 0, partsInDoubt: 0, partsAcked: 0 },
      })),
      content: { kind: 'text', text: 'hello' },
    });
  }
  const holdBackAll = (send: SendProgress, reason?: HoldReason) =>
    new SendPreparation({
      ...{ hold, firstContacts: { holds: () => true } },
      metrics: { countHeld: (count: number) => (counted += count) },
      results: {
        write: async (_tag: string, { recipient, errorCode }: { recipient: number; errorCode: number }) => {
          written.push(recipient);
          said[recipient] = errorCode;
          return onWrite(recipient);
        },
      },
    } as unknown as PreparationDeps).holdBack(send, send.takeForLookUp(10, 0), reason);
  const waiting = (send: SendProgress) => send.takeForLookUp(10, 0).map(({ index }) => index);

  it('releases recipients with a stored hold when the restriction has ended, even if the send is read meanwhile', async () => {
    const send = makeSend();
    onWrite = (recipient) => {
      if (recipient === 1) hold.isOn = false;
      // It ends for all who are held, and none is held again.
      if (recipient === 1) send.releaseHeld();
      return recipient === 2 ? 'cancelled' : 'queued';
    };
    const held: boolean[] = [];
    const holdOne = send.hold.bind(send);
    send.hold = (indices) => {
      held.push(hold.isOn);
      holdOne(indices);
    };
    await holdBackAll(send);
    expect(held, 'none is held after the end').not.to.include(false);
    expect(send.isHeld).to.equal(false);
    expect(waiting(send)).to.have.members([0, 1]);
  });

  it('tells the request of a send whose recipients could not be asked about', async () => {
    const send = makeSend({ kind: 'otp' });
    const lines: unknown[][] = [];
    const session = {
      lookUp: async () => {
        throw new Error('the session has ended');
      },
    } as unknown as MessengerSession;
    let prepared = false;
    const failures = new FailureLines({ warn: (...line: unknown[]) => lines.push(line) } as unknown as Logger);
    new SendPreparation({
      ...{ hold: { isOn: false }, firstContacts: { isOn: false }, sends: { unprepared: [send] } },
      failures,
      clock: { nowMs: () => 0 },
      currentSession: () => undefined,
      currentPace: () => ({ messagesPerMinute: 0 }),
      onPrepared: () => (prepared = true),
    } as unknown as PreparationDeps).prepare(session, { otpOnly: false });
    await eventually(() => prepared);
    failures.writeAll();
    expect(lines.map(([sentence]) => sentence)).to.deep.equal(['lookup failed']);
    expect(lines[0]![1]).to.include({ messageId: 'msg_1', requestId: 'r', attempts: 1 });
    expect(waiting(send)).to.deep.equal([0, 1, 2]);
  });

  it('does not hold a person who writes to us while the hold is being stored', async () => {
    const send = makeSend();
    onWrite = () => {
      hold.met = ['491510000001'];
      return 'queued';
    };
    await holdBackAll(send);
    expect(send.isHeld, 'it is not put aside').to.equal(false);
    expect(waiting(send)).to.deep.equal([1]);
    expect(send.heldNumbers()).to.deep.equal(['491510000000', '491510000002']);
  });

  it('says of each what it waits for, also after another hold that was over before that was written', async () => {
    const send = makeSend();
    await holdBackAll(send, 'awaiting_history');
    send.releaseHeld();
    onWrite = () => {
      hold.isOn = false;
      return 'queued';
    };
    await holdBackAll(send, 'new_contacts_held');
    expect(send.heldNumbers()).to.deep.equal([]);
    await holdBackAll(send, 'awaiting_history');
    expect(send.isHeld).to.equal(true);
    expect(said).to.deep.equal([0, 1, 2].map(() => ownErrorCode('awaiting_history')));
  });

  it('writes and counts each once, until it was tried again', async () => {
    const send = makeSend();
    await holdBackAll(send);
    expect(send.isHeld).to.equal(true);
    expect([written, counted]).to.deep.equal([[0, 1, 2], 3]);
    send.releaseHeld();
    await holdBackAll(send);
    expect([written, counted, send.isHeld]).to.deep.equal([[0, 1, 2], 3, true]);

    const loaded = makeSend({ errorCode: ownErrorCode('new_contacts_held') });
    await holdBackAll(loaded);
    expect([written, counted, loaded.isHeld], 'marked by a former owner').to.deep.equal([[0, 1, 2], 3, true]);

    send.releaseHeld();
    send.addReady(waiting(send));
    const tried = takeReady(send)!.recipient;
    send.forgetLookUps();
    send.putBack([tried]);
    await holdBackAll(send);
    expect([written, counted]).to.deep.equal([[0, 1, 2, tried], 4]);
  });
});

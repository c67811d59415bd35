import { isDeepStrictEqual } from 'node:util';
import type { RecipientStatus } from '@gateway/contracts/sends/statuses';
import type { ModelEvent, News, Reply } from './events.js';
import type { RecipientView, SendView, Snapshot } from './snapshot.js';

/** A receipt proves that the message arrived, also after its time. */
const MOVES: Record<RecipientStatus, readonly RecipientStatus[]> = {
  queued: ['sent', 'delivered', 'read', 'failed', 'expired', 'cancelled'],
  sent: ['delivered', 'read', 'failed'],
  delivered: ['read'],
  read: [],
  failed: [],
  expired: ['delivered', 'read'],
  cancelled: [],
};
const STAGES = { open: ['closed'], closed: ['gone'], gone: [] as string[] };

/** What must hold in the store whatever the model says: of one sequence, from its beginning. */
export class Invariants {
  private before: Snapshot | undefined;
  /** Attempts of each message that may have arrived. */
  private readonly attempts = new Map<string, number>();

  /** @throws with the sentence that does not hold. */
  check(event: ModelEvent, reply: Reply, now: Snapshot): void {
    const { before } = this;
    this.noteAttempts(event, reply);
    if (before && reply === 'fenced') must(isDeepStrictEqual(now, before), 'a stale owner changes nothing');
    if (before && event.do === 'claim' && reply === 'claimed') mayClaim(event, before);
    now.sends.forEach((send, index) => {
      const was = before?.sends[index];
      if (was !== undefined) mayBecome(stageOf(was), stageOf(send));
      if (send === 'gone') return;
      checkSend(send, now.nowMs);
      if (was !== undefined && was !== 'gone') this.checkMoves(index, { was, send });
    });
    const waiting = now.sends.reduce((sum, send) => sum + (stageOf(send) === 'open' ? messagesOf(send) : 0), 0);
    must(now.backlog === waiting, 'the backlog is what waits in open sends');
    this.before = now;
  }

  /** When all expiries are over. */
  static checkEnd(now: Snapshot): void {
    const isOver = now.sends.every((send) => stageOf(send) === 'closed' || stageOf(send) === 'gone');
    must(isOver, 'every send ends');
    must(now.backlog === 0 && Object.keys(now.open).length === 0, 'nothing is owed to sends that have ended');
    const codes = now.sends.filter(
      (send) => send !== 'gone' && send.kind === 'otp' && send.contentDiesAtMs !== undefined,
    );
    must(codes.length === 0, 'no code outlives its time');
  }

  private noteAttempts(event: ModelEvent, reply: Reply): void {
    if (event.do === 'claim' && reply === 'claimed') this.count(event.send, event, 1);
    if (event.do !== 'report' || reply === 'fenced') return;
    for (const news of event.news) this.count(event.send, news, ARRIVED[news.event]);
  }

  private count(send: number, { recipient, part }: { recipient: number; part: number }, change: number): void {
    const message = `${send}/${recipient}/${part}`;
    const before = this.attempts.get(message) ?? 0;
    // Of what is known not to have arrived the network tells nothing else that is true.
    const isTrue = change !== ARRIVED.acked || before > 0;
    if (isTrue) this.attempts.set(message, Math.max(0, before + change));
  }

  private checkMoves(index: number, { was, send }: { was: SendView; send: SendView }): void {
    send.recipients.forEach(({ status, accepted, person }, recipient) => {
      const before = was.recipients[recipient]!;
      must(person === before.person || person === 'forgotten', 'recipients stay who they are');
      if (status === before.status) return;
      must(MOVES[before.status].includes(status), `a recipient moves from ${before.status} to ${status}`);
      const mayBeShown = Array.from({ length: send.parts }, (_, part) => `${index}/${recipient}/${part}`).some(
        (message) => (this.attempts.get(message) ?? 0) > 0,
      );
      if (status === 'cancelled') must(!mayBeShown, 'what a phone may show is never cancelled');
      if (status === 'expired') must(accepted !== 2 ** send.parts - 1, 'what was accepted as a whole never expires');
    });
  }
}

/** How many attempts more may have arrived after that. */
const ARRIVED: Record<News['event'], number> = {
  ...{ acked: Number.POSITIVE_INFINITY, delivered: Number.POSITIVE_INFINITY, read: Number.POSITIVE_INFINITY },
  ...{ returned: -1, failed: -1, revoked: 0, held: 0 },
};

function must(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(`does not hold: ${sentence}`);
}

function stageOf(send: SendView | 'gone'): keyof typeof STAGES {
  return send === 'gone' ? 'gone' : send.stage;
}

function mayBecome(was: keyof typeof STAGES, now: keyof typeof STAGES): void {
  must(was === now || STAGES[was].includes(now), `a send goes from ${was} to ${now}`);
}

function isQueued({ status }: RecipientView): boolean {
  return status === 'queued';
}

function messagesOf(send: SendView | 'gone'): number {
  return send === 'gone' ? 0 : send.recipients.filter(isQueued).length * send.parts;
}

function checkSend(send: SendView, nowMs: number): void {
  const { stage, total, counts, recipients, expiresAtMs, diesAtMs, contentDiesAtMs } = send;
  const sum = Object.values(counts).reduce((all, count) => all + count, 0);
  must(sum === total && recipients.length === total, 'counts sum up to the number of recipients');
  for (const [status, count] of Object.entries(counts)) {
    must(recipients.filter((each) => each.status === status).length === count, `as many are ${status} as is counted`);
  }
  const waits = recipients.some(isQueued);
  must((stage === 'open') === waits, 'a send is open while a recipient is queued');
  must(!waits || nowMs >= expiresAtMs || contentDiesAtMs !== undefined, 'there is content for all that are queued');
  must((diesAtMs !== 'never') === (stage === 'closed'), 'a send that has ended dies, and no other');
  must(diesAtMs === 'never' || (contentDiesAtMs ?? 0) <= diesAtMs, 'no content outlives its send');
}

function mayClaim({ send, recipient, part, ownership }: Extract<ModelEvent, { do: 'claim' }>, before: Snapshot): void {
  must(ownership === 0 && before.ownership !== undefined, 'only the owner claims');
  const of = before.sends[send]!;
  const claimed = of === 'gone' ? undefined : of.recipients[recipient];
  must(claimed?.status === 'queued', 'only recipients that are queued are claimed');
  must((claimed!.accepted & (2 ** part)) === 0, 'what the network has accepted is not claimed again');
}

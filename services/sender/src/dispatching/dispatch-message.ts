import type { AckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import { toError } from '@gateway/runtime/errors';
import { type ClaimOutcome, claimRecipient } from '@gateway/store/sends/change-send';
import { failUnsent, identify, type Recipient } from '../preparing/drop-opted-out.js';
import type { SendPreparation } from '../preparing/send-preparation.js';
import type { SendSpans } from '../reporting/send-spans.js';
import { LONGEST_PAUSE_MS } from '../scheduling/retries.js';
import type { SendProgress, WorkItem } from '../scheduling/send-progress.js';
import { type Gate, type GateAnswer, type GateDeps, type LastAnswer, PASS } from './gate.js';
import { GATES, LAST_GATES } from './gates.js';
import type { LibraryTurns } from './library-turns.js';
import type { RedisDistance } from './redis-distance.js';
import { keysOfClaim } from './replicas-gate.js';
import type { Verdicts } from './verdicts.js';

export interface DispatchDeps extends GateDeps {
  /** The next message in turn, if there is one. */
  pick(): WorkItem | undefined;
  /** It is sent now; `false`: it must not be sent any more. */
  take(item: WorkItem): boolean;
  preparation: Pick<SendPreparation, 'holdBack'>;
  /** For tests. */
  gates?: readonly Gate[] | undefined;
  verdicts: Pick<Verdicts, 'settle' | 'notWritten' | 'unused'>;
  turns: Pick<LibraryTurns, 'take' | 'give'>;
  distance: Pick<RedisDistance, 'note' | 'ms'>;
  /** Another number as soon as what was asked with a claim may have changed: opt-outs, holds, lookups. */
  countNews(): number;
  spans: Pick<SendSpans, 'claimed' | 'unused' | 'answered'>;
  /** What the network said of a message that was written at this time of the monotonic clock, before that is settled. */
  onAck(outcome: AckOutcome, writtenAtMs: number): void;
  /** What the library had when the owner failed may be why: it stays in flight, for the next owner to see. */
  hasFailed(): boolean;
  /** The time of this send is over. */
  onExpired(send: SendProgress): Promise<void>;
}

export type Dispatched =
  | { kind: 'nothing' }
  /** Not before so many ms: by its pace, or for a reason that lies in Redis. */
  | { kind: 'wait'; ms: number }
  | { kind: 'rest'; ms: number }
  /** The recipient of this message does not get it now; the next one may. */
  | { kind: 'turnedBack'; send: SendProgress }
  /** `undefined`: it did not go out after all. Where a promise rejects, this owner is to end. */
  | { kind: 'started'; item: WorkItem; writing: Promise<Written | undefined> };

/** A message is on the wire. */
export interface Written {
  /** The network has answered, or never will. */
  answered: Promise<unknown>;
  /** Its verdict is stored. */
  settled: Promise<void>;
}

/** A claim that waited longer for its turn is given back: what was asked with it is asked again. */
const LONGEST_WAIT_MS = 100;
/**
 * And so is one whose answer took longer, also for a code: a master that stood still answers what it was asked before, and knows nothing of
 * what another one has promised in its place meanwhile. No failover is as short. Where Redis is farther than that it takes longer each time.
 */
const LONGEST_ANSWER_MS = 1_000;

type Refusal = Extract<LastAnswer, { kind: 'refuse' }>;

/**
 * One message, from its turn to its verdict:
 *
 *   pick -> gates -> claim, and the last gates -> replicas -> turn of the library -> send -> settle
 *
 * Resolves when it is known whether one is to go out: the next may be picked meanwhile.
 */
export async function dispatchMessage(deps: DispatchDeps): Promise<Dispatched> {
  const item = deps.pick();
  if (!item) return { kind: 'nothing' };
  const answer = await askGates(deps, item);
  if (answer.kind === 'wait' || answer.kind === 'rest') return answer;
  if (answer.kind === 'pass' && isOvertaken(item, deps.pick())) {
    deps.pacePlaces().putBack();
    return { kind: 'turnedBack', send: item.send };
  }
  if (answer.kind === 'pass' && deps.take(item)) return { kind: 'started', item, writing: write(deps, item) };
  if (answer.kind !== 'pass') await turnBack(deps, item, answer);
  return { kind: 'turnedBack', send: item.send };
}

/** A code came while the gates were asked. */
function isOvertaken(item: WorkItem, next: WorkItem | undefined): boolean {
  return next?.send.record.priority === 'otp' && item.send.record.priority !== 'otp';
}

async function askGates(deps: DispatchDeps, item: WorkItem): Promise<GateAnswer> {
  for (const gate of deps.gates ?? GATES) {
    const answer = await gate(deps, item);
    if (answer.kind !== 'pass') return answer;
  }
  return PASS;
}

/** Unless something else has become of it while the gates were asked. */
async function turnBack(
  deps: DispatchDeps,
  { send, recipient, to }: WorkItem,
  answer: Exclude<GateAnswer, { kind: 'pass' | 'wait' | 'rest' }>,
): Promise<void> {
  if (!send.isReady(recipient)) return;
  if (answer.kind === 'hold') return deps.preparation.holdBack(send, [{ index: recipient, to }], answer.reason);
  if (answer.kind === 'refuse') return failUnsent(deps, send, recipient, answer.error);
  if (answer.kind === 'later') {
    return send.postpone(recipient, deps.clock.nowMs() + Math.min(answer.ms, LONGEST_PAUSE_MS));
  }
  send.putBack([recipient]);
}

async function write(deps: DispatchDeps, item: WorkItem): Promise<Written | undefined> {
  const { session } = deps;
  const { send, recipient, to } = item;
  const person = await identify(session, send, to);
  if (!person) {
    // Their next lookup says what is to be done: it has pauses, and reasons.
    send.putBack([recipient]);
    return undefined;
  }
  const beganAtMs = deps.clock.nowMs();
  const asked = { atMs: deps.clock.monotonicMs(), news: deps.countNews() };
  const { claim, answers, isKept } = await claimAndAsk(deps, { person, ...item });
  const refusal = answers.find(({ kind }) => kind === 'refuse') as Refusal | undefined;
  if (claim !== 'claimed') await skip(deps, item, claim);
  else if (refusal) await failUnsent(deps, send, recipient, refusal.error);
  else {
    deps.spans.claimed(send, beganAtMs);
    return sendInTurn(deps, item, { ...asked, isKept });
  }
  return undefined;
}

/**
 * Unless what was asked with the claim does not hold any more when its turn comes: then not a byte of it goes out. Of a
 * code nothing was asked, and a second claim would cost it a second place in the pace.
 */
async function sendInTurn(
  deps: DispatchDeps,
  item: WorkItem,
  asked: { atMs: number; news: number; isKept: boolean },
): Promise<Written | undefined> {
  const { turns, clock, verdicts, distance } = deps;
  const { send, recipient } = item;
  const claimedAtMs = clock.monotonicMs();
  const isOtp = send.record.priority === 'otp';
  const isOld = claimedAtMs - asked.atMs > LONGEST_ANSWER_MS + distance.ms;
  const isOurs = asked.isKept && !isOld && (await turns.take({ isUrgent: isOtp }));
  const isLate = clock.monotonicMs() - claimedAtMs > LONGEST_WAIT_MS;
  const isStale = !isOtp && (isLate || asked.news !== deps.countNews());
  if (isOurs && !isStale && send.mayGo(recipient)) {
    return sendOne(deps, item).finally(() => turns.give());
  }
  if (isOurs) turns.give();
  deps.spans.unused(send);
  await verdicts.unused(item);
  return undefined;
}

/** Both in one round trip, and the gates after the mark: what changes before it counts. Then replicas are waited for. */
async function claimAndAsk(
  deps: DispatchDeps,
  item: WorkItem & { person: Recipient },
): Promise<{ claim: ClaimOutcome; answers: LastAnswer[]; isKept: boolean }> {
  const { store, ownership, clock, distance, claims } = deps;
  const { send, recipient, part } = item;
  const keys = keysOfClaim(deps, item);
  const since = await claims?.since(keys);
  // Of the machine: that of a test may stand still.
  const askedAtMs = performance.now();
  const [claim, answers] = await Promise.all([
    claimRecipient(store, ownership, { tag: send.tag, recipient, part, nowMs: clock.nowMs() }),
    Promise.all(LAST_GATES.map((gate) => gate(deps, item))),
  ]);
  const isKept = !claims || claim !== 'claimed' || (await claims.areKept(keys, since!));
  distance.note(performance.now() - askedAtMs);
  return { claim, answers, isKept };
}

async function sendOne(deps: DispatchDeps, item: WorkItem): Promise<Written | undefined> {
  const { session, ids, verdicts, clock, metrics } = deps;
  const { send, recipient, part, to } = item;
  const { kind, createdAtMs } = send.record;
  const claimedAtMs = clock.monotonicMs();
  metrics.observeClaim(kind, clock.nowMs() - createdAtMs);
  const platformId = ids.make({ tag: send.tag, recipient, part });
  try {
    const { answered, ack } = await session.send({ to, platformId, content: send.contentFor(item) });
    const writtenAtMs = clock.monotonicMs();
    const settle = (outcome: AckOutcome) => {
      deps.onAck(outcome, writtenAtMs);
      deps.spans.answered(send, outcome.kind);
      metrics.observeAnswer(kind, outcome.kind, clock.monotonicMs() - claimedAtMs);
      return verdicts.settle(item, outcome);
    };
    return { answered, settled: ack.then(settle) };
  } catch (thrown) {
    if (deps.hasFailed()) return undefined;
    deps.spans.unused(send);
    await verdicts.notWritten(item, toError(thrown));
    return undefined;
  }
}

async function skip(deps: DispatchDeps, item: WorkItem, claim: Exclude<ClaimOutcome, 'claimed'>): Promise<void> {
  const { send, recipient, part } = item;
  // A receipt for a former owner's attempt may have settled this part and not the next.
  if (claim === 'settled') send.acceptedPart(recipient, part);
  else send.settled(recipient);
  if (claim === 'cancelled') send.dropCancelled();
  if (claim === 'expired') await deps.onExpired(send);
}

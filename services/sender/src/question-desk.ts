import { LIMITS } from '@gateway/contracts/limits';
import { CONTACTS_PER_PART, type ContactFacts, type OwnerQuestion } from '@gateway/contracts/owner-questions';
import type { LookUpResult, MessengerSession } from '@gateway/messenger/session-types';
import type { Clock } from '@gateway/runtime/clock';
import { FencedError, toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logger';
import type { HeldLease } from '@gateway/store/lease-keeper';
import { takeQuestions, writeOwnerAnswer } from '@gateway/store/owner-questions';
import type { Store } from '@gateway/store/store';
import { WakeUp } from './wake-up.js';

export interface DeskDeps {
  store: Store;
  lease: HeldLease;
  clock: Clock;
  logger: Logger;
  /** The lease is lost. */
  onFailed(error: Error): void;
}

interface Waiting {
  id: string;
  question: OwnerQuestion;
  untilMs: number;
}

/** In memory, each with up to 1,000 numbers. */
const MAX_WAITING = 20;
/** The API gives up then, too. */
const ANSWER_MS = LIMITS.contactsWaitSeconds * 1000;
/** For a connection that is just being made; after it the answer is that nothing is known. */
const SESSION_MS = 5_000;

/**
 * Answers what other processes ask the owner of a device. Questions are taken at once, which tells that the device has a
 * sender, and answered one after the other: however many callers there are, they cost the device one look-up at a time,
 * and that one gives way to a message that a person waits for.
 */
export class QuestionDesk {
  private readonly waiting: Waiting[] = [];
  private readonly attached = new WakeUp();
  private answering: string | undefined;
  private session: MessengerSession | undefined;
  private isStopped = false;

  constructor(private readonly deps: DeskDeps) {}

  attach(session: MessengerSession): void {
    this.session = session;
    this.attached.ring();
  }

  detach(): void {
    this.session = undefined;
  }

  stop(): void {
    this.isStopped = true;
    this.waiting.length = 0;
    this.attached.ring();
  }

  /** Takes what was asked. Called on doorbells; who asks rings again when a doorbell was lost. */
  look(): void {
    if (this.isStopped) return;
    void this.take().catch((thrown: unknown) => this.failed(toError(thrown)));
  }

  private async take(): Promise<void> {
    const { store, lease, clock, logger } = this.deps;
    for (const { id, question } of await takeQuestions(store, lease)) {
      if (!question) logger.warn('a question that this version does not know');
      else if (this.waiting.length >= MAX_WAITING) await this.write(id, 'refused', 'busy');
      else if (!this.knows(id)) this.waiting.push({ id, question, untilMs: clock.monotonicMs() + ANSWER_MS });
    }
    if (this.answering === undefined) void this.answerAll();
  }

  private knows(id: string): boolean {
    return this.answering === id || this.waiting.some((each) => each.id === id);
  }

  private async answerAll(): Promise<void> {
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
      this.answering = next.id;
      await this.answer(next).catch((thrown: unknown) => this.failed(toError(thrown)));
    }
    this.answering = undefined;
  }

  private async answer({ id, question, untilMs }: Waiting): Promise<void> {
    await this.awaitSession();
    if (question.kind !== 'contacts') return;
    const { numbers } = question;
    for (let part = 0; part * CONTACTS_PER_PART < numbers.length; part++) {
      if (this.isStopped || this.deps.clock.monotonicMs() > untilMs) return;
      const from = part * CONTACTS_PER_PART;
      const facts = await this.factsOf(numbers.slice(from, from + CONTACTS_PER_PART));
      const isWanted = await this.write(id, String(part), JSON.stringify(facts));
      if (!isWanted) return;
    }
  }

  private async awaitSession(): Promise<void> {
    const { clock } = this.deps;
    const untilMs = clock.monotonicMs() + SESSION_MS;
    while (!this.session && !this.isStopped && clock.monotonicMs() < untilMs) {
      await this.attached.wait(untilMs - clock.monotonicMs());
    }
  }

  /** Both ask the session; one that has ended knows nothing. */
  private async factsOf(numbers: readonly string[]): Promise<ContactFacts[]> {
    const { session } = this;
    const [found, acquainted] = await Promise.all([
      session?.lookUp(numbers).catch(() => undefined),
      session?.findAcquainted(numbers).catch(() => undefined),
    ]);
    return numbers.map((number) => ({
      onMessenger: toOnMessenger(found?.get(number)),
      hasConversation: acquainted ? acquainted.has(number) : null,
    }));
  }

  private write(id: string, part: string, value: string): Promise<boolean> {
    return writeOwnerAnswer(this.deps.store, this.deps.lease, { id, part, value });
  }

  /** Redis away is nothing to end a connection for: the caller asks again. */
  private failed(error: Error): void {
    if (this.isStopped) return;
    if (error instanceof FencedError) this.deps.onFailed(error);
    else this.deps.logger.warn('a question was not answered', { error });
  }
}

function toOnMessenger(result: LookUpResult | undefined): boolean | null {
  return result && 'exists' in result ? result.exists : null;
}

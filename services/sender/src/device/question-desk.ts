import {
  CONTACTS_PER_PART,
  type ContactFacts,
  type FileAnswer,
  type FileQuestion,
  type OwnerQuestion,
} from '@gateway/contracts/devices/owner-questions';
import { LIMITS } from '@gateway/contracts/limits';
import type { HeldDevice } from '@gateway/fleet/session-keeper';
import type { LookUpResult, MessengerSession } from '@gateway/messenger/session/session-types';
import type { Clock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { FencedError, toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import { takeQuestions, writeOwnerAnswer } from '@gateway/store/devices/questions/owner-questions';
import { joinOptOuts } from '@gateway/store/workspace/join-opt-outs';

export interface DeskDeps {
  store: Store;
  ownership: HeldDevice;
  clock: Clock;
  logger: Logger;
  /** Answers what was removed, by kind. */
  forgetPerson(number: string): Promise<Record<string, number>>;
  /** The ownership is lost. */
  onFailed(error: Error): void;
}

interface Waiting {
  id: string;
  numbers: readonly string[];
  untilMs: number;
}

/** In memory, each with up to 1,000 numbers. */
const MAX_WAITING = 20;
const MOST_BESIDE = { file: 5, other: 1 };
/** The API stops waiting then, too. */
const ANSWER_MS = LIMITS.contactsWaitSeconds * 1000;
/** Wait for a connection that is being opened; after it the answer is "unknown". */
const SESSION_MS = 5_000;

/**
 * Answers questions of other processes to the owner of a device. Questions are taken at once, which shows that the device has a
 * sender, and answered one after the other: however many callers there are, they cost the device one lookup at a time,
 * which gives way to urgent messages.
 */
export class QuestionDesk {
  private readonly waiting: Waiting[] = [];
  /** Resolves when there is a session, or the desk is closed. */
  private attached = defer<void>();
  private answering: string | undefined;
  private session: MessengerSession | undefined;
  /** How many of the questions beside the line are being answered. */
  private readonly beside = { file: 0, other: 0 };
  /** One after the other: two that read the same question would both answer it. */
  private taking = Promise.resolve();
  private isStopped = false;

  constructor(private readonly deps: DeskDeps) {}

  attach(session: MessengerSession): void {
    this.session = session;
    this.attached.resolve();
  }

  detach(): void {
    if (!this.session) return;
    this.session = undefined;
    this.attached = defer();
  }

  stop(): void {
    this.isStopped = true;
    this.waiting.length = 0;
    this.attached.resolve();
  }

  /** Takes the questions. Called on doorbells; the caller rings again when a doorbell was lost. */
  look(): void {
    if (this.isStopped) return;
    this.taking = this.taking.then(() => this.take()).catch((thrown: unknown) => this.failed(toError(thrown)));
  }

  private async take(): Promise<void> {
    const { store, ownership, clock, logger } = this.deps;
    if (this.isStopped) return;
    for (const { id, question } of await takeQuestions(store, ownership)) {
      if (!question) logger.warn('a question of an unknown kind');
      else if (question.kind !== 'contacts') void this.answerBeside(id, question);
      else if (this.knows(id)) logger.debug('a repeated question is already being answered');
      else if (this.waiting.length >= MAX_WAITING) await this.write(id, 'refused', 'busy');
      else this.waiting.push({ id, numbers: question.numbers, untilMs: clock.monotonicMs() + ANSWER_MS });
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

  private async answer({ id, numbers, untilMs }: Waiting): Promise<void> {
    for (let part = 0; part * CONTACTS_PER_PART < numbers.length; part++) {
      if (this.isOver(untilMs)) return;
      // The connection may be replaced in the meantime.
      await this.awaitSession();
      if (this.isOver(untilMs)) return;
      const from = part * CONTACTS_PER_PART;
      const facts = await this.factsOf(numbers.slice(from, from + CONTACTS_PER_PART));
      const isWanted = await this.write(id, String(part), JSON.stringify(facts));
      if (!isWanted) return;
    }
  }

  private isOver(untilMs: number): boolean {
    return this.isStopped || this.deps.clock.monotonicMs() > untilMs;
  }

  private async awaitSession(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, SESSION_MS);
      void this.attached.promise.then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** For an operator who examines one device, one at a time, and for files, some at a time: not queued behind contact checks. */
  private async answerBeside(id: string, question: Exclude<OwnerQuestion, { kind: 'contacts' }>): Promise<void> {
    const kind = question.kind === 'file' ? 'file' : 'other';
    if (this.beside[kind] >= MOST_BESIDE[kind]) return void this.write(id, 'refused', 'busy').catch(() => {});
    this.beside[kind] += 1;
    try {
      if (question.kind !== 'forget') await this.awaitSession();
      const found = await this.examine(question).catch(() => undefined);
      await this.write(id, '0', JSON.stringify(found ?? null));
    } catch (thrown) {
      this.failed(toError(thrown));
    } finally {
      this.beside[kind] -= 1;
    }
  }

  private examine(question: Exclude<OwnerQuestion, { kind: 'contacts' }>): Promise<unknown> {
    if (question.kind === 'forget') return this.deps.forgetPerson(question.number);
    const { session } = this;
    if (!session) return Promise.resolve(undefined);
    if (question.kind === 'file') return answerFile(session, question);
    return question.kind === 'trace' ? session.trace(question.seconds * 1000) : session.examine();
  }

  /** Both ask the session; after its end the answer is "unknown". */
  private async factsOf(numbers: readonly string[]): Promise<ContactFacts[]> {
    const { session } = this;
    const [found, acquainted] = await Promise.all([
      session?.lookUp(numbers).catch(() => undefined),
      session?.findAcquainted(numbers).catch(() => undefined),
    ]);
    // The API checks the opt-outs next, by number.
    if (session && found) await joinOptOuts(this.deps, session, numbers);
    return numbers.map((number) => ({
      onMessenger: toOnMessenger(found?.get(number)),
      hasConversation: acquainted ? acquainted.has(number) : null,
    }));
  }

  private write(id: string, part: string, value: string): Promise<boolean> {
    return writeOwnerAnswer(this.deps.store, this.deps.ownership, { id, part, value });
  }

  /** An unreachable Redis is no reason to end a connection: the caller asks again. */
  private failed(error: Error): void {
    if (this.isStopped) return;
    if (error instanceof FencedError) this.deps.onFailed(error);
    else this.deps.logger.warn('a question was not answered', { error });
  }
}

async function answerFile(session: MessengerSession, file: FileQuestion): Promise<FileAnswer> {
  return { directPath: (await session.askForFile(file)) ?? null };
}

function toOnMessenger(result: LookUpResult | undefined): boolean | null {
  return result && 'exists' in result ? result.exists : null;
}

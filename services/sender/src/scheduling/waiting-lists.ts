import type { MessageId } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { toError } from '@gateway/runtime/errors';
import type { OpenPage, OpenPlace } from '@gateway/store/sends/open-sends';

export interface WaitingListsDeps {
  monotonicMs(): number;
  /** Open lists in the order in which they were accepted, at most `MAX_FOUND`. */
  readPage(after: OpenPlace | undefined): Promise<OpenPage>;
  /** Whether it waits for a place, and not for anything else. */
  isWaiting(messageId: MessageId): boolean;
  /** There is a next one. */
  onFound(): void;
  onUnreadable(error: Error): void;
}

/** One that was found in Redis says only after it is loaded which request made it. */
export type WaitingList = Pick<SendJob, 'messageId'> & { requestId?: string };

export const MAX_FOUND = 100;
const AGAIN_MS = 1_000;

/**
 * The lists of a device that wait for a place: first accepted, first served. They stay in Redis. Of as many as there may be this
 * process knows the next hundred at most, and where to read on behind them; the last page is followed by the first, as long as
 * there may be lists that were not seen.
 */
export class WaitingLists {
  private found: WaitingList[] = [];
  /** Behind the last page. `undefined`: the whole was read. */
  private place: OpenPlace | undefined;
  /** There may be lists before the last page, or behind the last of all. */
  private mayHaveMissed = false;
  private reading = false;
  private notBeforeMs = 0;

  constructor(private readonly deps: WaitingListsDeps) {}

  /** The one whose turn it is; without one that is known, Redis is asked. */
  get next(): WaitingList | undefined {
    while (this.found[0] && !this.deps.isWaiting(this.found[0].messageId)) this.found.shift();
    if (this.found.length === 0 && this.mayRead) void this.read();
    return this.found[0];
  }

  /** It waits from now on, behind all others. */
  add(list: WaitingList): void {
    if (this.found.some(({ messageId }) => messageId === list.messageId)) return;
    if (this.knowsAll && this.found.length < MAX_FOUND) this.found.push(list);
    else this.mayHaveMissed = true;
  }

  /** There may be any number of them. */
  look(): void {
    this.mayHaveMissed = true;
  }

  remove(messageId: MessageId): void {
    this.found = this.found.filter((list) => list.messageId !== messageId);
  }

  /** None waits, here or in Redis. */
  get isEmpty(): boolean {
    return this.knowsAll && this.found.length === 0;
  }

  private get knowsAll(): boolean {
    return !this.mayHaveMissed && this.place === undefined && !this.reading;
  }

  private get mayRead(): boolean {
    return !this.reading && !this.knowsAll && this.deps.monotonicMs() >= this.notBeforeMs;
  }

  private async read(): Promise<void> {
    this.reading = true;
    try {
      while (this.found.length === 0 && (this.mayHaveMissed || this.place !== undefined)) await this.readOn();
    } catch (thrown) {
      this.notBeforeMs = this.deps.monotonicMs() + AGAIN_MS;
      this.mayHaveMissed = true;
      this.deps.onUnreadable(toError(thrown));
    } finally {
      this.reading = false;
    }
    if (this.found.length > 0) this.deps.onFound();
  }

  private async readOn(): Promise<void> {
    if (this.place === undefined) this.mayHaveMissed = false;
    const { messageIds, next } = await this.deps.readPage(this.place);
    this.place = next;
    this.found = messageIds.filter((messageId) => this.deps.isWaiting(messageId)).map((messageId) => ({ messageId }));
  }
}

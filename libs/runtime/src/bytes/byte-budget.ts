import { inTime } from '../clock.js';
import { Shares } from './shares.js';

interface Waiting {
  holder: string;
  bytes: number;
  begin(): void;
}

/** What holds less waits for nothing. */
const SMALL_BYTES = 16 * 1024;

/**
 * Memory that a process may use for one purpose, by how much all who are at it hold. Who finds no room waits, and holds nothing meanwhile.
 * Room goes to those who hold least: none is kept out by what others hold, however many places they want. What is more than there is has
 * the whole for itself.
 */
export class ByteBudget {
  readonly #held = new Shares();
  readonly #waiting: Waiting[] = [];

  constructor(readonly capacityBytes: number) {}

  get heldBytes(): number {
    return this.#held.all;
  }

  async hold<Result>(
    { holder, bytes }: { holder: string; bytes: number },
    work: (hasWaited: boolean) => Promise<Result>,
  ): Promise<Result> {
    const waits = bytes >= SMALL_BYTES && (this.#waiting.length > 0 || !this.#hasRoom(bytes));
    if (waits) await this.#turn(holder, bytes);
    else this.#held.add(holder, bytes);
    try {
      return await work(waits);
    } finally {
      this.#held.add(holder, -bytes);
      this.#beginNext();
    }
  }

  /** The same for `ms` at most: what goes on for longer waits for a node of Redis that is away, and leaves its room to others. */
  async holdBriefly<Result>(
    share: { holder: string; bytes: number },
    ms: number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const { working } = await this.hold(share, async () => {
      const working = work();
      await inTime(working, ms).catch(() => {});
      return { working };
    });
    return working;
  }

  #hasRoom(bytes: number): boolean {
    return this.#held.all === 0 || this.#held.all + bytes <= this.capacityBytes;
  }

  #turn(holder: string, bytes: number): Promise<void> {
    return new Promise((begin) => void this.#waiting.push({ holder, bytes, begin }));
  }

  #beginNext(): void {
    while (this.#waiting.length > 0) {
      const next = this.#leastServed();
      if (!this.#hasRoom(next.bytes)) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#held.add(next.holder, next.bytes);
      next.begin();
    }
  }

  #leastServed(): Waiting {
    return this.#waiting.reduce((least, each) =>
      this.#held.of(each.holder) < this.#held.of(least.holder) ? each : least,
    );
  }
}

import type { SendTag } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { type HeardSend, type TakenSend, takeInSends } from '@gateway/store/sends/take-in-sends';

interface Batch {
  sends: HeardSend[];
  taken: ReturnType<typeof takeInSends>;
}

/** Takes in the sends of a device, those that it hears of in one moment in one step. */
export class TakeIns {
  private open: Batch | undefined;

  constructor(private readonly deps: { store: Store; ownership: Ownership; clock: Clock }) {}

  /** `undefined` when nothing is left to do for it. Rejects with `FencedError`, `UnknownVersionError`. */
  async take(tag: SendTag): Promise<TakenSend | undefined> {
    const taken = await this.hear({ tag, reads: 'any' });
    return taken === 'large' ? undefined : taken;
  }

  /** The same, unless it is large: then it is taken in, and not read. */
  takeSmall(tag: SendTag): Promise<TakenSend | 'large' | undefined> {
    return this.hear({ tag, reads: 'small' });
  }

  /** The same for a send that is read later: its owner knows of it. */
  async note(tag: SendTag): Promise<void> {
    await this.hear({ tag, reads: 'none' });
  }

  private async hear(send: HeardSend): Promise<TakenSend | 'large' | undefined> {
    this.open ??= this.openBatch();
    const { sends, taken } = this.open;
    const position = sends.push(send) - 1;
    const outcome = (await taken)[position];
    if (outcome instanceof Error) throw outcome;
    return outcome;
  }

  private openBatch(): Batch {
    const sends: HeardSend[] = [];
    // Behind all that is asked for now, and before the event loop turns: a one-time password does not wait for it.
    const turn = new Promise<void>((resolve) => process.nextTick(resolve));
    const taken = turn.then(() => {
      this.open = undefined;
      const { store, ownership, clock } = this.deps;
      return takeInSends(store, ownership, { sends, nowMs: clock.nowMs() });
    });
    return { sends, taken };
  }
}

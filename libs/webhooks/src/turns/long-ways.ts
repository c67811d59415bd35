import type { Workspace } from '@gateway/contracts/ids';
import { ByteBudget } from '@gateway/runtime/bytes/byte-budget';
import type { TellLane } from '@gateway/store/webhooks/delivering/lanes';

/** What a lane was told, or passed, in one step that counts as a long way: the next one is likely to be as long. */
const LONG = 100;
/** More at a time would only wait for the same processor, and so would all that is short. */
const AT_A_TIME = 4;
/** Of the longest. */
const STEP_BYTES = 1024 * 1024;
/** Who looks for longer waits for a node of Redis, and leaves its place to others. */
const HELD_MS = 5_000;

/** Of an endpoint. */
export interface FarLanes {
  /** They have a long way to go. */
  far?: Set<TellLane>;
}

interface Looked {
  told: readonly unknown[];
  /** Of the log. */
  entries: number;
}

/**
 * Lanes that are far behind in their log, and replays, look for what comes next a few at a time in a process, each for one request, and a
 * free place goes to the workspace that has fewest: however many endpoints of one pass through a long log, others are told at once.
 */
export class LongWays {
  readonly #room = new ByteBudget(AT_A_TIME * STEP_BYTES);

  constructor(private readonly heldMs = HELD_MS) {}

  async look<Result extends Looked | string | undefined>(
    { workspace, lane, known }: { workspace: Workspace; lane: TellLane; known: FarLanes },
    look: () => Promise<Result>,
  ): Promise<Result> {
    known.far ??= new Set();
    const { far } = known;
    const isLong = far.has(lane) || lane === 'replay';
    const found = await (isLong
      ? this.#room.holdBriefly({ holder: workspace, bytes: STEP_BYTES }, this.heldMs, look)
      : look());
    if (typeof found === 'object' && Math.max(found.entries, found.told.length) >= LONG) far.add(lane);
    else far.delete(lane);
    return found;
  }
}

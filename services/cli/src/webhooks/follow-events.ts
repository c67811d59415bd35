import { LOG_START } from '@gateway/contracts/events/cursor';
import type { ReaderPlace } from '@gateway/contracts/events/reader-place';
import type { Workspace } from '@gateway/contracts/ids';
import { sleep, systemClock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import { isAheadOfLog, noteReading } from '@gateway/store/events/read-log';
import { type ReadEvent, type ReaderGone, readEvents } from '@gateway/store/events/reading/read-events';

interface Following {
  /** Waits for Redis while it is away: what happens meanwhile is told afterwards. */
  store: Store;
  workspace: Workspace;
  after: ReaderPlace;
  types?: readonly string[];
}

/** Rows, or that some are not kept any more and where those begin that are. */
export type Followed = ReadEvent | ReaderGone;

/** The command line listens to no bells. */
const LOOK_MS = 500;
/** The log stays open for those who read it. */
const NOTE_MS = 60_000;
const PAGE = 100;

/** All events behind a place, in order, as they come, without an end. */
export async function* followEvents({ store, workspace, after, types }: Following): AsyncGenerator<Followed> {
  const filter = { ...(types && { types }), limit: PAGE };
  let notedMs = Number.NEGATIVE_INFINITY;
  let next = after;
  if (await isAheadOfLog(store, workspace, after, systemClock.nowMs())) {
    next = LOG_START;
    yield { oldest: next };
  }
  for (;;) {
    if (systemClock.monotonicMs() - notedMs >= NOTE_MS) {
      await noteReading(store, workspace);
      notedMs = systemClock.monotonicMs();
    }
    const page = await readEvents({ store, workspace }, next, filter);
    if ('oldest' in page) {
      yield page;
      next = page.oldest;
      continue;
    }
    yield* page.rows;
    next = page.next;
    if (page.isLast) await sleep(LOOK_MS);
  }
}

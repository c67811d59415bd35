import type { Workspace } from '@gateway/contracts/ids';

/** At a time, of those that answer soon and of the others: each has one request in flight per lane. All endpoints of two workspaces may hang. */
const PLACES = { quick: 100, slow: 200 } as const;
/** Who has had its place for so long has one of the slow, if there is one for it, and begins there the next time. */
const SLOW_MS = 1_000;
/** Until it answers soon. After so long nobody knows, and it begins as any other: one that hangs is asked less often. */
const KNOWN_MS = 600_000;

export type Pace = keyof typeof PLACES;
export const PACES = Object.keys(PLACES) as Pace[];

/** One endpoint at work. */
export interface Holder {
  workspace: Workspace;
  pace: Pace;
  /** Since when it has done nothing but wait for its answer; monotonic. */
  sinceMs: number;
}

export const isLate = ({ sinceMs }: Holder, nowMs: number): boolean => nowMs - sinceMs > SLOW_MS;

/** @param lateMs when it was late the last time, unless it has answered soon since. */
export const paceOf = (lateMs: number | undefined, nowMs: number): Pace =>
  lateMs !== undefined && nowMs - lateMs < KNOWN_MS ? 'slow' : 'quick';

/**
 * The places of a process. A workspace has at most as many of a pace as are left free then: one whose endpoints all hang has half, and n
 * of them leave what one more would have, so that others need not wait.
 */
export class Places {
  readonly #holders = new Set<Holder>();
  readonly #taken: Record<Pace, number> = { quick: 0, slow: 0 };
  readonly #ofEach: Record<Pace, Map<Workspace, number>> = { quick: new Map(), slow: new Map() };

  isFull(pace: Pace): boolean {
    return this.#taken[pace] >= PLACES[pace];
  }

  /** For one of this workspace. */
  isFree(pace: Pace, workspace: Workspace): boolean {
    return (this.#ofEach[pace].get(workspace) ?? 0) < PLACES[pace] - this.#taken[pace];
  }

  take(holder: Holder): void {
    this.#holders.add(holder);
    this.#count(holder, 1);
  }

  leave(holder: Holder): void {
    this.#holders.delete(holder);
    this.#count(holder, -1);
  }

  /** Those that turn out to be slow leave their places to quick ones, as far as there are slow ones for them. */
  moveLate(nowMs: number): void {
    for (const holder of this.#holders) {
      if (holder.pace === 'slow' || !isLate(holder, nowMs) || !this.isFree('slow', holder.workspace)) continue;
      this.#count(holder, -1);
      holder.pace = 'slow';
      this.#count(holder, 1);
    }
  }

  #count({ pace, workspace }: Holder, by: 1 | -1): void {
    const ofEach = this.#ofEach[pace];
    const count = (ofEach.get(workspace) ?? 0) + by;
    this.#taken[pace] += by;
    if (count === 0) ofEach.delete(workspace);
    else ofEach.set(workspace, count);
  }
}

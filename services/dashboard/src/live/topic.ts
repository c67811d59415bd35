import type { UserRole } from '@gateway/contracts/console/users';
import type { Doorbell } from '@gateway/contracts/doorbell';

/** Something that pages follow. What is told is always the whole of it: one that was missed does no harm. */
export interface Topic {
  /** The least role that may follow it. */
  role: UserRole;
  /** Whether a doorbell means that it may have changed. */
  isRungBy(doorbell: Doorbell): boolean;
  /** What changes without a doorbell is found by looking this often. */
  everyMs: number;
  /** @param bells the doorbells since the last time; `undefined`: look at everything. */
  read(bells: readonly Doorbell[] | undefined): Promise<unknown>;
  /** As a user of this role may see it; the same for all without it. */
  show?(role: UserRole, whole: unknown): unknown;
}

import type { UserRole } from '@gateway/contracts/console/users';
import type { Doorbell } from '@gateway/contracts/doorbell';

/** Something that pages follow. What is told first is the whole of it, on every stream: what was missed before does no harm. */
export interface Topic {
  /** The least role that may follow it. */
  role: UserRole;
  /** Whether a doorbell means that it may have changed. */
  isRungBy(doorbell: Doorbell): boolean;
  /** What changes without a doorbell is found by looking this often. */
  readonly everyMs: number;
  /** An array of items with an `id` each, in the order of these: after the first time its changes are told. */
  isList?: boolean;
  /** @param bells the doorbells since the last time; `undefined`: look at everything. */
  read(bells: readonly Doorbell[] | undefined): Promise<unknown>;
  /** As a user of this role may see it; the same for all without it. */
  show?(role: UserRole, whole: unknown): unknown;
}

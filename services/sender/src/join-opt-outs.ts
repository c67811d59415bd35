import type { MessengerSession } from '@gateway/messenger/session-types';
import { joinOptOut } from '@gateway/store/hidden-opt-outs';
import type { Lease } from '@gateway/store/leases';
import type { Store } from '@gateway/store/store';

/** A STOP that came without a number counts for the number that a look-up has found to be of the same person. */
export async function joinOptOuts(
  { store, lease }: { store: Store; lease: Lease },
  session: Pick<MessengerSession, 'numberOf' | 'hiddenIdOf'>,
  numbers: readonly string[],
): Promise<void> {
  const { workspace } = lease.address;
  const join = async (number: string) =>
    joinOptOut(store, workspace, { phone: session.numberOf(number), hiddenId: await session.hiddenIdOf(number) });
  await Promise.all(numbers.map(join));
}

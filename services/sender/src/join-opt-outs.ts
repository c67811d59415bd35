import type { MessengerSession } from '@gateway/messenger/session-types';
import { joinOptOut } from '@gateway/store/hidden-opt-outs';
import type { Lease } from '@gateway/store/leases';
import type { Store } from '@gateway/store/store';

/**
 * A STOP that came without a number counts for the number that a look-up has found to be of the same person. Pairs that
 * only the keys have join nothing: the number could then take back what another person has asked for.
 */
export async function joinOptOuts(
  { store, lease }: { store: Store; lease: Lease },
  session: Pick<MessengerSession, 'numberOf' | 'namedHiddenIdOf'>,
  numbers: readonly string[],
): Promise<void> {
  const { workspace } = lease.address;
  const join = async (number: string) =>
    joinOptOut(store, workspace, { phone: session.numberOf(number), hiddenId: session.namedHiddenIdOf(number) });
  await Promise.all(numbers.map(join));
}

import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { Store } from '@gateway/store/core/store';
import type { Lease } from '@gateway/store/fleet/leases';
import { joinOptOut } from '@gateway/store/workspace/hidden-opt-outs';

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

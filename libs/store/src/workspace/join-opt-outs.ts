import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';
import { joinOptOut } from './hidden-opt-outs.js';

/** What a session knows about the names of people it has looked up (`MessengerSession`). */
export interface NameBook {
  /** The number under which the network has the person that a number leads to. */
  numberOf(number: string): string;
  /** Their hidden identifier (`digits@lid`), where the network has named it. */
  namedHiddenIdOf(number: string): string | undefined;
}

/**
 * A STOP that came without a number counts for the number that a lookup has found to be of the same person. Pairs that
 * only the keys have join nothing: the number could then take back what another person has asked for.
 */
export async function joinOptOuts(
  { store, ownership }: { store: Store; ownership: Pick<Ownership, 'address'> },
  names: NameBook,
  numbers: readonly string[],
): Promise<void> {
  const { workspace } = ownership.address;
  const join = async (number: string) =>
    joinOptOut(store, workspace, { phone: names.numberOf(number), hiddenId: names.namedHiddenIdOf(number) });
  await Promise.all(numbers.map(join));
}

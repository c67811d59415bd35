import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { packNumber } from '@gateway/contracts/sends/packed-send';
import { bytes, defineScript } from '../../core/scripts/define-script.js';
import type { Store } from '../../core/store.js';

const findStep = defineScript({
  name: 'find-recipient',
  whenFull: 'runs',
  keys: ['...records'],
  args: { '...numbers': bytes },
  reply: (reply) => reply as [looked: number, ...found: number[]],
});

/** Of one step, so that Redis gets on with other things in between. */
const SENDS_PER_CALL = 50;

/**
 * Which of these records have one of these people among their recipients, in any spelling of the number: index of the record, place
 * of the recipient. With several in one record there is a pair for each.
 * @param records keys, all of one shard.
 * @param phones digits.
 */
export async function findInRecords(
  store: Store,
  records: readonly string[],
  phones: readonly string[],
): Promise<[index: number, recipient: number][]> {
  const numbers = phones.flatMap((phone) => spellingsOf(phone).map(packNumber));
  const found: [number, number][] = [];
  for (let from = 0; from < records.length; ) {
    const [looked, ...pairs] = await findStep(store, { records: records.slice(from, from + SENDS_PER_CALL), numbers });
    for (let i = 0; i < pairs.length; i += 2) found.push([from + pairs[i]!, pairs[i + 1]!]);
    from += looked;
  }
  return found;
}

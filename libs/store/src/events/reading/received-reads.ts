import { ByteBudget } from '@gateway/runtime/bytes/byte-budget';
import { describeReceived } from '../describe-received.js';

/** One of the longest, until it is opened and unpacked. */
const READ_BYTES = 1024 * 1024;
const READS_AT_A_TIME = 16;
const HELD_MS = 5_000;

/**
 * What people wrote, for all in a process who tell of it: few are read at a time, and those who ask for the same one meanwhile get the
 * same. It is kept for no one: what is erased is not told after that.
 */
export class ReceivedReads {
  readonly #room = new ByteBudget(READS_AT_A_TIME * READ_BYTES);
  readonly #underWay = new Map<string, ReturnType<typeof describeReceived>>();

  readonly describe: typeof describeReceived = (store, address, wanted) => {
    const name = `${address.workspace}/${address.device}/${wanted.receivedId}/${wanted.arrivedAtMs}`;
    const known = this.#underWay.get(name);
    if (known) return known;
    const share = { holder: address.workspace, bytes: READ_BYTES };
    const found = this.#room
      .holdBriefly(share, HELD_MS, () => describeReceived(store, address, wanted))
      .finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, found);
    return found;
  };
}

import type { InboxRow } from './inbox.js';
import { Phone } from './phone.js';
import type { KeyringState, PhoneKeyring } from './phone-keys.js';
import type { SignalState } from './signal-store.js';

/** How a phone behaves. */
export interface PhoneHabits {
  /**
   * It opens what it shows: a read receipt follows the delivery receipt. `auto`, the default, is yes for phones
   * without a linked client: people who have one read there.
   */
  readonly autoRead: boolean | 'auto';
  /** It is switched on and reachable. While it is not, the network keeps its messages. Default true. */
  readonly online: boolean;
  /** Its owner shows a picture. Default true. */
  readonly picture: boolean;
  /**
   * The network does not know its keys any more: it refuses every key query that names it, as a whole, or leaves it out
   * of the answer. Default false.
   */
  readonly badKeys?: boolean | 'leftOut';
  /** How long its owner takes to read. Default 150 ms: stock clients merge what comes within 100 ms, and so see "delivered" before "read". */
  readonly readDelayMs: number;
}

/** `sent` is missing from the oldest states. */
type PhoneState = Pick<Phone, 'number' | 'ownCopies'> &
  Partial<Pick<Phone, 'sent'>> & { readonly rows: InboxRow[]; readonly signal: SignalState };

export interface PhoneBookState {
  readonly keyring: KeyringState;
  readonly habits: ReadonlyMap<string, PhoneHabits>;
  readonly phones: readonly PhoneState[];
}

const USUAL: PhoneHabits = { autoRead: 'auto', online: true, picture: true, readDelayMs: 150 };

/** The phones that something happened on, and the habits that differ from the usual. */
export class PhoneBook {
  readonly keyring: PhoneKeyring;
  readonly #phones = new Map<string, Phone>();
  readonly #habits = new Map<string, PhoneHabits>();

  constructor(keyring: PhoneKeyring) {
    this.keyring = keyring;
  }

  /** The phone of a number, made on first use. */
  phone(number: string): Phone {
    let phone = this.#phones.get(number);
    if (!phone) {
      phone = new Phone(number, this.keyring);
      this.#phones.set(number, phone);
    }
    return phone;
  }

  known(number: string): Phone | undefined {
    return this.#phones.get(number);
  }

  all(): IterableIterator<Phone> {
    return this.#phones.values();
  }

  get size(): number {
    return this.#phones.size;
  }

  habitsOf(number: string): PhoneHabits {
    return this.#habits.get(number) ?? USUAL;
  }

  setHabits(number: string, change: Partial<PhoneHabits>): PhoneHabits {
    const habits = { ...this.habitsOf(number), ...change };
    this.#habits.set(number, habits);
    return habits;
  }

  /** The owner set the phone up anew: other keys, no sessions; what it showed stays. */
  reinstall(number: string): void {
    this.keyring.reinstall(number);
    const before = this.#phones.get(number);
    if (!before) return;
    const after = new Phone(number, this.keyring);
    for (const row of before.inbox.rows()) after.inbox.keep(row);
    this.#phones.set(number, after);
  }

  save(): PhoneBookState {
    const phones = [...this.#phones.values()].map(({ number, inbox, signal, ownCopies, sent }) => {
      return { number, rows: [...inbox.rows()], signal: signal.save(), ownCopies, sent };
    });
    return { keyring: this.keyring.save(), habits: this.#habits, phones };
  }

  load({ keyring, habits, phones }: PhoneBookState): void {
    this.keyring.load(keyring);
    for (const [number, each] of habits) this.#habits.set(number, each);
    for (const { number, rows, signal, ownCopies, sent = [] } of phones) {
      const phone = this.phone(number);
      for (const row of rows) phone.inbox.keep(row);
      phone.signal.load(signal);
      phone.ownCopies = ownCopies;
      phone.sent = sent;
    }
  }
}

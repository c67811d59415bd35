import type { Seed } from '../crypto/seed.js';
import { Account, type AccountState } from './account.js';
import type { LinkedDevice } from './linked-device.js';

export interface RegistryState {
  readonly accounts: readonly AccountState[];
  readonly lastUnused: number;
}

/** All accounts that anything is known about. */
export class AccountRegistry {
  readonly #seed: Seed;
  readonly #accounts = new Map<string, Account>();
  #lastUnused = 0;

  constructor(seed: Seed) {
    this.#seed = seed;
  }

  find(number: string): Account | undefined {
    return this.#accounts.get(number);
  }

  findDevice(number: string, device: number): LinkedDevice | undefined {
    return this.#accounts.get(number)?.devices.get(device);
  }

  ensure(number: string): Account {
    let account = this.#accounts.get(number);
    if (!account) {
      const rawId = this.#seed.derive(`account/${number}`).readUInt32BE(0) >>> 1;
      account = new Account(number, rawId, Date.now());
      this.#accounts.set(number, account);
    }
    return account;
  }

  all(): IterableIterator<Account> {
    return this.#accounts.values();
  }

  save(): RegistryState {
    return { accounts: [...this.#accounts.values()].map((account) => account.save()), lastUnused: this.#lastUnused };
  }

  load({ accounts, lastUnused }: RegistryState): void {
    for (const state of accounts) this.#accounts.set(state.own.number, Account.load(state));
    this.#lastUnused = lastUnused;
  }

  /** A number that no account has yet, from a range that is not given out: +1 555 ... */
  unusedNumber(): string {
    let number: string;
    do {
      this.#lastUnused += 1;
      number = `1555${String(this.#lastUnused).padStart(7, '0')}`;
    } while (this.#accounts.has(number));
    return number;
  }

  /** The number that goes with a client's name: clients that register under one name are devices of one account. */
  numberOfName(pushName: string): string {
    const digits = this.#seed.derive(`name/${pushName}`).readUIntBE(0, 6) % 1e8;
    return `1556${String(digits).padStart(8, '0')}`;
  }
}

import { type Deferred, defer } from '@gateway/runtime/deferred';

/** Lets those wait who have nothing to do until something happens. */
export class News {
  #next: Deferred<void> = defer();

  /** Asked for before one looks, so that nothing is missed in between. */
  next(): Promise<void> {
    return this.#next.promise;
  }

  tell(): void {
    this.#next.resolve();
    this.#next = defer();
  }
}

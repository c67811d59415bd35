import { AsyncLocalStorage } from 'node:async_hooks';

/** The only one of the process: up to Node 22 each costs every promise and timer a property, and a step when it is made. */
const storage = new AsyncLocalStorage<ReadonlyMap<unknown, unknown>>();

/** A value that follows a piece of work through every `await`, timer and callback. */
export class AsyncValue<Value> {
  /** Runs `work` with this value. One inside another replaces it until the inner work ends. */
  run<Result>(value: Value, work: () => Result): Result {
    return storage.run(new Map(storage.getStore()).set(this, value), work);
  }

  /** `undefined` outside of any such work. */
  get(): Value | undefined {
    return storage.getStore()?.get(this) as Value | undefined;
  }
}

import { createRequire, syncBuiltinESMExports } from 'node:module';
import { AsyncValue } from '@gateway/runtime/process/async-value';

/** The transaction contexts of sockets. */
const current = new AsyncValue<{ storage: SharedStorage; value: unknown }>();

/** The part of `AsyncLocalStorage` that the library uses, kept in the one of the process. */
class SharedStorage {
  run<Result>(value: unknown, work: () => Result): Result {
    return current.run({ storage: this, value }, work);
  }

  getStore(): unknown {
    const now = current.get();
    return now?.storage === this ? now.value : undefined;
  }
}

const asyncHooks = createRequire(import.meta.url)('node:async_hooks') as object;
/** A value in Node 20, a getter without a setter in later ones. */
const original = Object.getOwnPropertyDescriptor(asyncHooks, 'AsyncLocalStorage')!;
const shared = { value: SharedStorage, configurable: true, enumerable: true };

/**
 * Runs `make`, which makes a socket synchronously, so that what the library thinks is an `AsyncLocalStorage` of that
 * socket shares one with all others. Node 20 copies a property per instance to every promise and timer of the process:
 * with one instance per socket, each had 300 properties in a process of 300 devices. That took 1.8 MB of live memory per
 * device in place of 0.4, and 90 MB of garbage a second while nothing happened. (Node 24 keeps them in another way.)
 */
export function shareStorage<Made>(make: () => Made): Made {
  replaceExport(shared);
  try {
    return make();
  } finally {
    replaceExport(original);
  }
}

function replaceExport(descriptor: PropertyDescriptor): void {
  Object.defineProperty(asyncHooks, 'AsyncLocalStorage', descriptor);
  syncBuiltinESMExports();
}

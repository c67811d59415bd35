import { AsyncResource } from 'node:async_hooks';
import { AsyncValue } from './async-value.js';

type OnUncaught = (error: Error) => void;

const container = new AsyncValue<OnUncaught>();

/**
 * Runs `work`. An uncaught error of it, or of a callback of what it has opened (sockets, timers), goes to
 * `onUncaught` and does not end the process: see `runUntilSignal`.
 */
export function contain<Result>(onUncaught: OnUncaught, work: () => Result): Result {
  return container.run(onUncaught, work);
}

/** Work that others start, such as a shared queue: what it opens still belongs to this context. */
export function keepContained<Result>(work: () => Result): () => Result {
  // Not by its `bind`, whose properties take longer than most of such work.
  const resource = new AsyncResource('contained');
  return () => resource.runInAsyncScope(work);
}

/** The context of an error, called in the handler of an uncaught one. `undefined`: it belongs to the whole process. */
export function containerOf(): OnUncaught | undefined {
  return container.get();
}

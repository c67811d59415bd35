export interface Deferred<Result> {
  promise: Promise<Result>;
  /** Only the first call counts. */
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** A promise that is settled from outside: `Promise.withResolvers`, which Node 20 does not have yet. */
export function defer<Result>(): Deferred<Result> {
  const deferred = {} as Deferred<Result>;
  deferred.promise = new Promise<Result>((resolve, reject) => Object.assign(deferred, { resolve, reject }));
  return deferred;
}

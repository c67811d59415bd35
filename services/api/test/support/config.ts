/** Requests per endpoint: a few while people wait for `npm test`, many where machines do. */
export function fuzzRuns(): number {
  return Number(process.env.FUZZ_RUNS || 300);
}

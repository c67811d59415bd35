import type { Call } from '../http/endpoint.js';
import { Turns } from '../http/turns.js';

/** To look through entries of ten thousand changes takes up to 100 ms of the processor, and some MB until the answer is out. */
const TURNS = new Turns(2);
const WAIT_MS = 10_000;

/** Reads the log for two calls of a token at a time. Throws 503 when its others take too long. */
export function readInTurn<Result>(
  call: Pick<Call<unknown, unknown>, 'token' | 'signal'>,
  read: () => Promise<Result>,
): Promise<Result> {
  return TURNS.run(call, WAIT_MS, read);
}

import type { Call } from './endpoint.js';
import { Turns } from './turns.js';

/** Each may take tens of milliseconds of the processor, and some MB until its answer is out. */
const TURNS = new Turns(2);
const WAIT_MS = 10_000;

/** Reads lists or the log for two calls of a token at a time. Throws 503 when its others take too long. */
export function readInTurn<Result>(
  call: Pick<Call<unknown, unknown>, 'token' | 'signal'>,
  read: () => Promise<Result>,
): Promise<Result> {
  return TURNS.run(call, WAIT_MS, read);
}

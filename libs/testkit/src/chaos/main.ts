import { toError } from '@gateway/runtime/errors';
import { waitReplicas } from '../config.js';
import { readOptions } from './read-options.js';
import { judge, runChaos } from './run-chaos.js';

const options = readOrExit();
const begin = performance.now();
const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
// The launcher is gone, even when that was killed.
process.once('disconnect', () => stop.abort());

const result = await runChaos({
  ...options,
  say: (line) => console.log(`${Math.round((performance.now() - begin) / 1_000)} s: ${line}`),
  signal: stop.signal,
}).catch(() => end(`FAILED; repeat it with --seed ${options.seed}`, 1));
const { passed, verdict } = judge(result);
if (!options.json) console.log(verdict);
await end(JSON.stringify(result), passed ? 0 : 1);

/** Nothing has been started yet. */
function readOrExit(): ReturnType<typeof readOptions> {
  try {
    return readOptions(process.argv.slice(2), { seed: Date.now() % 1_000_000, waitReplicas: waitReplicas() });
  } catch (thrown) {
    console.error(toError(thrown).message);
    process.exit(2);
  }
}

/** Its reader may be slow: the last line is the one that counts. */
function end(line: string, exitCode: number): Promise<never> {
  return new Promise(() => process.stdout.write(`${line}\n`, () => process.exit(exitCode)));
}

import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { toError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { BENCHMARKS } from './benchmarks.js';
import type { Benchmark } from './support/benchmark.js';
import { describeGoals, meetsGoals } from './support/goals.js';
import { rounded } from './support/statistics.js';

/** `npm run bench -- NAME [--json]`: one benchmark; its last line is one JSON object. Without a name it lists them. */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: { json: { type: 'boolean' } }, allowPositionals: true });
  const [name] = positionals;
  const benchmark = BENCHMARKS.find((each) => each.name === name);
  if (benchmark) return run(benchmark, values.json ? process.stderr : process.stdout);
  if (name) console.error(`There is no benchmark ${name}.\n`);
  console.log(listOf(BENCHMARKS));
  return name ? 1 : 0;
}

async function run({ name, summary, goals, run: measure }: Benchmark, notes: NodeJS.WriteStream): Promise<number> {
  const lifecycle = new Lifecycle({
    logger: createLogger({ service: 'bench', level: 'warn' }),
    partTimeoutMs: 20_000,
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void lifecycle.stop());
  process.on('disconnect', () => void lifecycle.stop());
  const say = (line: string) => void notes.write(`${line}\n`);
  say(`${name}: ${summary}\ngoals: ${describeGoals(goals)}\n`);
  try {
    const finding = await measure({ lifecycle, say });
    await lifecycle.stop();
    console.log(JSON.stringify({ name, ...finding, meets: meetsGoals(finding, goals), load: loadavg().map(rounded) }));
    return 0;
  } catch (thrown) {
    if (!lifecycle.stopping.aborted) console.error(toError(thrown));
    await lifecycle.stop();
    return 1;
  }
}

function listOf(benchmarks: readonly Benchmark[]): string {
  const lines = benchmarks.map(
    ({ name, summary, goals }) => `  ${name.padEnd(10)} ${summary}\n  ${''.padEnd(10)} ${describeGoals(goals)}`,
  );
  return ['npm run bench -- NAME [--json]', '', ...lines].join('\n');
}

process.exit(await main());
